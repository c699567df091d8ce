! SPDX-License-Identifier: MIT
! Drives the reference LAPACK: solves a dense system and checks it, then finds eigenvalues and
! vectors of a symmetric matrix. Arguments: how many equations and eigenvalues, instead of 1600 and 500.
program dense
  use, intrinsic :: iso_fortran_env, only: real64, int64
  implicit none
  integer :: size = 1600, eigen_size = 500
  character(len=20) :: word
  real(real64), allocatable :: a(:, :), kept(:, :), b(:), x(:), work(:), eigenvalue(:)
  integer, allocatable :: pivot(:)
  integer(int64) :: seed = 271828_int64
  integer :: info
  external :: dgesv, dsyev

  call get_command_argument(1, word)
  if (word /= '') read (word, *) size
  call get_command_argument(2, word)
  if (word /= '') read (word, *) eigen_size
  allocate (a(size, size), b(size), pivot(size))
  call fill(a)
  allocate (kept, source=a)
  b = sum(a, 2)
  allocate (x, source=b)
  call dgesv(size, 1, a, size, pivot, x, size, info)
  print '(i3, es9.1)', info, real(nint(maxval(abs(x - 1)) * 1e6_real64), real64)
  print '(es9.1)', real(nint(maxval(abs(matmul(kept, x) - b)) * 1e6_real64), real64)

  deallocate (a)
  allocate (a(eigen_size, eigen_size), eigenvalue(eigen_size), work(64 * eigen_size))
  call fill(a)
  a = a + transpose(a)
  call dsyev('V', 'U', eigen_size, a, eigen_size, eigenvalue, work, 64 * eigen_size, info)
  print '(i3, 2es14.6)', info, eigenvalue(1), eigenvalue(eigen_size)

contains

  subroutine fill(matrix)
    real(real64), intent(out) :: matrix(:, :)
    integer :: i, j
    do j = 1, ubound(matrix, 2)
      do i = 1, ubound(matrix, 1)
        seed = mod(seed * 16807_int64, 2147483647_int64)
        matrix(i, j) = real(seed, real64) / 2147483647 - 0.5_real64
      end do
    end do
  end subroutine
end program
