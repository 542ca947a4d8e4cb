// Package restart tests that files survive the processes that write them. It builds the
// programs that write files, the games and loadtest, unchanged. It also builds games as their
// next version, with other fields and an additional component, kind and command, and as a version in which
// that component's type differs.
//
// Each server goes through the same steps in one folder: it is started, stopped, killed at many
// moments, refused, upgraded and rolled back. After each step the whole folder is compared with
// its content before. Commands that only write files are run, killed and refused. Each option
// in a command's help that names a file must be in a table. Bots of each version play on servers of the
// other one. The tests need Unix.
package restart
