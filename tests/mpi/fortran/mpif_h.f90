! Fortran through mpif.h.
program mpif_h
  implicit none
  include 'mpif.h'
  integer :: row, absolute, other, types(64), others(64)
  integer(kind=MPI_ADDRESS_KIND) :: address
  integer :: requests(4), status(MPI_STATUS_SIZE)
  include 'body.inc'
end program
