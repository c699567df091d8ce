! SPDX-License-Identifier: MIT
! V-cycles of multigrid for Poisson's equation in three dimensions, in the manner of the MG kernel
! of the NAS parallel benchmarks (Bailey and others, 1991): long strides on many sizes of grid.
module grids
  use, intrinsic :: iso_fortran_env, only: real64
  implicit none
  type :: level
    integer :: size
    real(real64), allocatable :: u(:, :, :), right(:, :, :), rest(:, :, :)
  end type
contains

  ! Gauss and Seidel's relaxation in red-black order.
  subroutine relax(u, right, n)
    integer, intent(in) :: n
    real(real64), intent(inout) :: u(0:n, 0:n, 0:n)
    real(real64), intent(in) :: right(0:n, 0:n, 0:n)
    integer :: i, j, k, colour
    do colour = 0, 1
      do k = 1, n - 1
        do j = 1, n - 1
          do i = 1 + mod(colour + j + k, 2), n - 1, 2
            u(i, j, k) = (u(i - 1, j, k) + u(i + 1, j, k) + u(i, j - 1, k) + u(i, j + 1, k) &
                          + u(i, j, k - 1) + u(i, j, k + 1) + right(i, j, k)) / 6
          end do
        end do
      end do
    end do
  end subroutine

  subroutine find_rest(u, right, rest, n)
    integer, intent(in) :: n
    real(real64), intent(in) :: u(0:n, 0:n, 0:n), right(0:n, 0:n, 0:n)
    real(real64), intent(inout) :: rest(0:n, 0:n, 0:n)
    integer :: i, j, k
    do k = 1, n - 1
      do j = 1, n - 1
        do i = 1, n - 1
          rest(i, j, k) = right(i, j, k) - 6 * u(i, j, k) + u(i - 1, j, k) + u(i + 1, j, k) &
                          + u(i, j - 1, k) + u(i, j + 1, k) + u(i, j, k - 1) + u(i, j, k + 1)
        end do
      end do
    end do
  end subroutine

  ! Restriction by full weighting; the grid below has half as many intervals.
  subroutine restrict(fine, coarse, n)
    integer, intent(in) :: n
    real(real64), intent(in) :: fine(0:2 * n, 0:2 * n, 0:2 * n)
    real(real64), intent(inout) :: coarse(0:n, 0:n, 0:n)
    integer :: i, j, k, a, b, c
    real(real64) :: sum
    do k = 1, n - 1
      do j = 1, n - 1
        do i = 1, n - 1
          sum = 0
          do c = -1, 1
            do b = -1, 1
              do a = -1, 1
                sum = sum + fine(2 * i + a, 2 * j + b, 2 * k + c) &
                      / real(2**(abs(a) + abs(b) + abs(c)), real64)
              end do
            end do
          end do
          coarse(i, j, k) = sum / 2
        end do
      end do
    end do
  end subroutine

  ! Trilinear interpolation of the correction, added to the finer grid.
  subroutine interpolate(coarse, fine, n)
    integer, intent(in) :: n
    real(real64), intent(in) :: coarse(0:n, 0:n, 0:n)
    real(real64), intent(inout) :: fine(0:2 * n, 0:2 * n, 0:2 * n)
    integer :: i, j, k, a, b, c
    do k = 0, n - 1
      do j = 0, n - 1
        do i = 0, n - 1
          do c = 0, 1
            do b = 0, 1
              do a = 0, 1
                fine(2 * i + a, 2 * j + b, 2 * k + c) = fine(2 * i + a, 2 * j + b, 2 * k + c) &
                  + (coarse(i, j, k) + coarse(i + a, j, k) + coarse(i, j + b, k) &
                     + coarse(i + a, j + b, k) + coarse(i, j, k + c) + coarse(i + a, j, k + c) &
                     + coarse(i, j + b, k + c) + coarse(i + a, j + b, k + c)) / 8
              end do
            end do
          end do
        end do
      end do
    end do
  end subroutine

  recursive subroutine cycle_down(levels, at)
    type(level), intent(inout) :: levels(:)
    integer, intent(in) :: at
    integer :: step
    associate (here => levels(at))
      if (at == 1) then
        do step = 1, 20
          call relax(here%u, here%right, here%size)
        end do
        return
      end if
      call relax(here%u, here%right, here%size)
      call find_rest(here%u, here%right, here%rest, here%size)
      call restrict(here%rest, levels(at - 1)%right, levels(at - 1)%size)
      levels(at - 1)%u = 0
      call cycle_down(levels, at - 1)
      call interpolate(levels(at - 1)%u, here%u, levels(at - 1)%size)
      call relax(here%u, here%right, here%size)
    end associate
  end subroutine
end module

program multigrid
  use grids
  implicit none
  integer, parameter :: depth = 6, cycles = 20
  type(level) :: levels(depth)
  integer :: at, n, round

  do at = 1, depth
    n = 2**(at + 1)
    levels(at)%size = n
    allocate (levels(at)%u(0:n, 0:n, 0:n), levels(at)%right(0:n, 0:n, 0:n), &
              levels(at)%rest(0:n, 0:n, 0:n))
    levels(at)%u = 0
    levels(at)%right = 0
    levels(at)%rest = 0
  end do
  levels(depth)%right(n / 4, n / 3, n / 2) = 1
  levels(depth)%right(n / 2, n / 5, n / 3) = -1
  do round = 1, cycles
    call cycle_down(levels, depth)
    call find_rest(levels(depth)%u, levels(depth)%right, levels(depth)%rest, n)
    print '(i3, es16.8)', round, sqrt(sum(levels(depth)%rest**2))
  end do
end program
