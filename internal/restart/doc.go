// Package restart tests that files outlive the processes that write them. The programs that write
// files, the games and loadtest, are built as they are; games also as their next version, with a
// further component, kind and command, and as one in which the type of that component differs. Each
// server lives through the same steps in one folder: it is started, stopped, killed at many moments,
// refused, upgraded and rolled back. After each step the whole folder is compared with its content
// before. Commands that only write files are run, killed and refused. Each option in the help of a
// command that names a file must be in a table. The tests need Unix.
package restart
