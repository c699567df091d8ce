! SPDX-License-Identifier: MIT
program grid
  implicit none
  integer, parameter :: n = 24
  real(8) :: a(n, n), b(n, n)
  integer :: step, i, j
  do j = 1, n
    do i = 1, n
      a(i, j) = mod(i * 7 + j * 3, 11)
    end do
  end do
  do step = 1, 10
    call relax(a, b, n)
    call relax(b, a, n)
  end do
  print '(f12.6)', sum(a)
  print *, classify(7), classify(-2), classify(0)
contains
  subroutine relax(from, to, m)
    integer, intent(in) :: m
    real(8), intent(in) :: from(m, m)
    real(8), intent(out) :: to(m, m)
    integer :: p, q
    do q = 1, m
      do p = 1, m
        if (p == 1 .or. q == 1 .or. p == m .or. q == m) then
          to(p, q) = from(p, q)
        else
          to(p, q) = 0.25d0 * (from(p - 1, q) + from(p + 1, q) + from(p, q - 1) + from(p, q + 1))
        end if
      end do
    end do
  end subroutine relax
  integer function classify(k)
    integer, intent(in) :: k
    select case (k)
    case (:-1)
      classify = -1
    case (0)
      classify = 0
    case default
      classify = mod(k, 4)
    end select
  end function classify
end program grid
