! Fortran 2008 through the module mpi_f08, with handles that are types of their own.
program use_mpi_f08
  use mpi_f08
  implicit none
  type(MPI_Datatype) :: row, absolute, types(64), others(64)
  type(MPI_Comm) :: other
  integer(kind=MPI_ADDRESS_KIND) :: address
  type(MPI_Request) :: requests(4)
  type(MPI_Status) :: status
  include 'body.inc'
end program
