! SPDX-License-Identifier: MIT
! Drives L-BFGS-B (Zhu, Byrd, Lu, Nocedal, 1997): the extended Rosenbrock function with bounds, in
! many variables, for a fixed number of iterations. An argument: how many variables, instead of 200000.
program minimize
  use, intrinsic :: iso_fortran_env, only: real64
  implicit none
  integer :: size = 200000
  character(len=20) :: word
  integer, parameter :: corrections = 10, iterations = 40
  real(real64), allocatable :: x(:), low(:), high(:), gradient(:), work(:)
  integer, allocatable :: bounded(:), integer_work(:)
  real(real64) :: value, real_state(29)
  integer :: integer_state(44), i
  logical :: logical_state(4)
  character(len=60) :: task, state
  external :: setulb

  call get_command_argument(1, word)
  if (word /= '') read (word, *) size
  allocate (x(size), low(size), high(size), gradient(size), bounded(size), integer_work(3 * size), &
            work(2 * corrections * size + 5 * size + 11 * corrections**2 + 8 * corrections))
  bounded = 2
  do i = 1, size
    low(i) = merge(1.0_real64, -100.0_real64, mod(i, 2) == 1)
    high(i) = 100
  end do
  x = 3
  gradient = 0
  value = 0
  task = 'START'
  do
    call setulb(size, corrections, x, low, high, bounded, value, gradient, 1e7_real64, 1e-8_real64, &
                work, integer_work, task, -1, state, logical_state, integer_state, real_state)
    if (task(1:2) == 'FG') then
      call evaluate()
    else if (task(1:5) /= 'NEW_X' .or. integer_state(30) >= iterations) then
      exit
    end if
  end do
  print '(i5, es12.4)', integer_state(30), value

contains

  subroutine evaluate()
    real(real64) :: before, here
    integer :: k
    value = 0.25_real64 * (x(1) - 1)**2
    do k = 2, size
      value = value + (x(k) - x(k - 1)**2)**2
    end do
    value = 4 * value
    here = x(2) - x(1)**2
    gradient(1) = 2 * (x(1) - 1) - 16 * x(1) * here
    do k = 2, size - 1
      before = here
      here = x(k + 1) - x(k)**2
      gradient(k) = 8 * before - 16 * x(k) * here
    end do
    gradient(size) = 8 * here
  end subroutine
end program
