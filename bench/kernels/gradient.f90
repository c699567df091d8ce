! SPDX-License-Identifier: MIT
! Conjugate gradients on a sparse symmetric matrix with a random pattern, in the manner of the CG
! kernel of the NAS parallel benchmarks (Bailey and others, 1991): the matrix streams, the vector
! is gathered.
program gradient
  use, intrinsic :: iso_fortran_env, only: real64, int64
  implicit none
  integer, parameter :: size = 300000, half_row = 8, rounds = 8, steps = 10
  integer, allocatable :: first(:), column(:)
  real(real64), allocatable :: value(:), x(:), z(:), p(:), q(:), r(:)
  integer(int64) :: seed = 314159265_int64
  integer :: round
  real(real64) :: norm, shift

  call make_matrix()
  allocate (x(size), z(size), p(size), q(size), r(size))
  x = 1
  do round = 1, rounds
    norm = solve()
    shift = 20 + 1 / dot_product(x, z)
    x = z / sqrt(dot_product(z, z))
    print '(i3, 2es16.8)', round, norm, shift
  end do

contains

  integer function next_random(limit)
    integer, intent(in) :: limit
    seed = mod(seed * 16807_int64, 2147483647_int64)
    next_random = int(mod(seed, int(limit, int64))) + 1
  end function

  ! Entries come in mirrored pairs; the diagonal dominates, so the matrix is positive definite.
  subroutine make_matrix()
    integer, allocatable :: other(:, :), filled(:)
    real(real64), allocatable :: weight(:, :)
    integer :: i, k, j
    allocate (other(half_row, size), weight(half_row, size), first(size + 1), filled(size))
    filled = 1
    do i = 1, size
      do k = 1, half_row
        other(k, i) = next_random(size)
        weight(k, i) = 1.0_real64 / (1 + next_random(1000))
        filled(i) = filled(i) + 1
        filled(other(k, i)) = filled(other(k, i)) + 1
      end do
    end do
    first(1) = 1
    do i = 1, size
      first(i + 1) = first(i) + filled(i)
    end do
    allocate (column(first(size + 1) - 1), value(first(size + 1) - 1))
    filled = first(1:size)
    do i = 1, size
      call put(filled, i, i, 4.0_real64)
      do k = 1, half_row
        j = other(k, i)
        call put(filled, i, j, weight(k, i))
        call put(filled, j, i, weight(k, i))
      end do
    end do
  end subroutine

  subroutine put(filled, row, where, what)
    integer, intent(inout) :: filled(:)
    integer, intent(in) :: row, where
    real(real64), intent(in) :: what
    column(filled(row)) = where
    value(filled(row)) = what
    filled(row) = filled(row) + 1
  end subroutine

  subroutine multiply(from, to)
    real(real64), intent(in) :: from(:)
    real(real64), intent(out) :: to(:)
    real(real64) :: sum
    integer :: i, k
    do i = 1, size
      sum = 0
      do k = first(i), first(i + 1) - 1
        sum = sum + value(k) * from(column(k))
      end do
      to(i) = sum
    end do
  end subroutine

  ! Some steps towards matrix · z = x; the norm of what is left.
  real(real64) function solve()
    real(real64) :: rho, rho_before, alpha
    integer :: step
    z = 0
    r = x
    p = r
    rho = dot_product(r, r)
    do step = 1, steps
      call multiply(p, q)
      alpha = rho / dot_product(p, q)
      z = z + alpha * p
      r = r - alpha * q
      rho_before = rho
      rho = dot_product(r, r)
      p = r + (rho / rho_before) * p
    end do
    call multiply(z, q)
    solve = sqrt(sum((x - q)**2))
  end function
end program
