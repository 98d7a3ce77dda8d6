// The numbers of a register tile. Those that are 0 are left out where it is called.
struct tapc_tile {
  int rows, vectors, steps;                      // of sums, and values of the reduction that a loop has together, 0 for as many as compilers like
  int64_t row, left;                             // how far apart rows of the left operand are, and its values
  int64_t step, panel, apart;                    // how far apart values of the right operand are, how wide its panels are, and how far apart these
  int64_t resident;                              // partial sums and their sums are in registers side by side
  int64_t aligned, rest;                         // the right operand is in panels; if it is not, the columns in the last vector unless these are all
  int64_t ahead;                                 // after how many values columns are used that are asked for
  int64_t length, runs;                          // of the innermost dimension of the reduction, and how often that is gone through if more than once
  int64_t fold, block, span;                     // values of it that are multiplied at once, that make a partial sum, and a sum of partial sums
  int64_t area, groups;                          // vectors of unfinished sums of a kind; sums of partial sums are added by others
  int64_t next_left, next_right, lines, columns; // what later tiles read is asked for with each value, or some lines of columns with each block

  int64_t whole, some, blocks, half; // of low precision: groups of four bytes in a run or in the last of some blocks, bytes behind these, and how far the second sixteen rows are
};
