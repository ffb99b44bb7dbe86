! Fortran through the module mpi.
program use_mpi
  use mpi
  implicit none
  integer :: row, absolute, other, types(64), others(64)
  integer(kind=MPI_ADDRESS_KIND) :: address
  integer :: requests(4), status(MPI_STATUS_SIZE)
  include 'body.inc'
end program
