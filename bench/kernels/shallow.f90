! SPDX-License-Identifier: MIT
! Shallow-water equations by finite differences on a staggered grid with leap-frog steps and a time
! filter: the scheme of Sadourny (1975) that many vector benchmarks use. Fourteen grids, no reuse
! beyond neighbours. An argument: steps, instead of 100.
program shallow
  use, intrinsic :: iso_fortran_env, only: real64
  implicit none
  integer, parameter :: m = 800, n = 800
  real(real64), parameter :: dx = 1e5_real64, dy = 1e5_real64, alpha = 1e-3_real64, pi = acos(-1.0_real64)
  real(real64), allocatable, dimension(:, :) :: u, v, p, u_old, v_old, p_old, u_new, v_new, p_new
  real(real64), allocatable, dimension(:, :) :: cu, cv, z, h, psi
  real(real64) :: dt
  character(len=20) :: word
  integer :: step, steps = 100

  call get_command_argument(1, word)
  if (word /= '') read (word, *) steps
  allocate (u(m + 1, n + 1), v(m + 1, n + 1), p(m + 1, n + 1), u_old(m + 1, n + 1), v_old(m + 1, n + 1), &
            p_old(m + 1, n + 1), u_new(m + 1, n + 1), v_new(m + 1, n + 1), p_new(m + 1, n + 1), &
            cu(m + 1, n + 1), cv(m + 1, n + 1), z(m + 1, n + 1), h(m + 1, n + 1), psi(m + 1, n + 1))
  call start()
  dt = 90
  do step = 1, steps
    call find_flows()
    call advance(dt)
    if (step == 1) then
      dt = dt + dt
      u_old = u; v_old = v; p_old = p
      u = u_new; v = v_new; p = p_new
    else
      call filter()
    end if
  end do
  print '(3es16.8)', sum(p(1:m, 1:n)) / (m * n), maxval(abs(u)), maxval(abs(v))

contains

  subroutine start()
    integer :: i, j
    do j = 1, n + 1
      do i = 1, m + 1
        psi(i, j) = 1e6_real64 * sin((i - 0.5_real64) * 2 * pi / m) * sin((j - 0.5_real64) * 2 * pi / n)
        p(i, j) = 5e4_real64 + 10 * (cos(4 * (i - 1) * pi / m) + cos(4 * (j - 1) * pi / n))
      end do
    end do
    u = 0; v = 0; cu = 0; cv = 0; z = 0; h = 0; u_new = 0; v_new = 0; p_new = 0
    do j = 1, n
      do i = 1, m
        u(i + 1, j) = -(psi(i + 1, j + 1) - psi(i + 1, j)) / dy
        v(i, j + 1) = (psi(i + 1, j + 1) - psi(i, j + 1)) / dx
      end do
    end do
    call wrap(u, .true., .false.)
    call wrap(v, .false., .true.)
    u_old = u; v_old = v; p_old = p
  end subroutine

  ! Periodic edges; which edge is computed and which is copied depends on where on the cell it lives.
  subroutine wrap(a, high_i, high_j)
    real(real64), intent(inout) :: a(:, :)
    logical, intent(in) :: high_i, high_j
    if (high_i) then
      a(1, :) = a(m + 1, :)
    else
      a(m + 1, :) = a(1, :)
    end if
    if (high_j) then
      a(:, 1) = a(:, n + 1)
    else
      a(:, n + 1) = a(:, 1)
    end if
  end subroutine

  subroutine find_flows()
    real(real64) :: fx, fy
    integer :: i, j
    fx = 4 / dx
    fy = 4 / dy
    do j = 1, n
      do i = 1, m
        cu(i + 1, j) = 0.5_real64 * (p(i + 1, j) + p(i, j)) * u(i + 1, j)
        cv(i, j + 1) = 0.5_real64 * (p(i, j + 1) + p(i, j)) * v(i, j + 1)
        z(i + 1, j + 1) = (fx * (v(i + 1, j + 1) - v(i, j + 1)) - fy * (u(i + 1, j + 1) - u(i + 1, j))) &
                          / (p(i, j) + p(i + 1, j) + p(i + 1, j + 1) + p(i, j + 1))
        h(i, j) = p(i, j) + 0.25_real64 * (u(i + 1, j)**2 + u(i, j)**2 + v(i, j + 1)**2 + v(i, j)**2)
      end do
    end do
    call wrap(cu, .true., .false.)
    call wrap(cv, .false., .true.)
    call wrap(z, .true., .true.)
    call wrap(h, .false., .false.)
  end subroutine

  subroutine advance(step_s)
    real(real64), intent(in) :: step_s
    real(real64) :: eighth, over_x, over_y
    integer :: i, j
    eighth = step_s / 8
    over_x = step_s / dx
    over_y = step_s / dy
    do j = 1, n
      do i = 1, m
        u_new(i + 1, j) = u_old(i + 1, j) - over_x * (h(i + 1, j) - h(i, j)) + eighth &
          * (z(i + 1, j + 1) + z(i + 1, j)) * (cv(i + 1, j + 1) + cv(i, j + 1) + cv(i, j) + cv(i + 1, j))
        v_new(i, j + 1) = v_old(i, j + 1) - over_y * (h(i, j + 1) - h(i, j)) - eighth &
          * (z(i + 1, j + 1) + z(i, j + 1)) * (cu(i + 1, j + 1) + cu(i, j + 1) + cu(i, j) + cu(i + 1, j))
        p_new(i, j) = p_old(i, j) - over_x * (cu(i + 1, j) - cu(i, j)) - over_y * (cv(i, j + 1) - cv(i, j))
      end do
    end do
    call wrap(u_new, .true., .false.)
    call wrap(v_new, .false., .true.)
    call wrap(p_new, .false., .false.)
  end subroutine

  subroutine filter()
    integer :: i, j
    do j = 1, n + 1
      do i = 1, m + 1
        u_old(i, j) = u(i, j) + alpha * (u_new(i, j) - 2 * u(i, j) + u_old(i, j))
        v_old(i, j) = v(i, j) + alpha * (v_new(i, j) - 2 * v(i, j) + v_old(i, j))
        p_old(i, j) = p(i, j) + alpha * (p_new(i, j) - 2 * p(i, j) + p_old(i, j))
        u(i, j) = u_new(i, j)
        v(i, j) = v_new(i, j)
        p(i, j) = p_new(i, j)
      end do
    end do
  end subroutine
end program
