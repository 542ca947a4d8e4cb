// Package restart tests that what programs write outlives their processes. The programs of the
// module are built once as they are, and once as their next version: with a further component, kind
// and command. Each lives through the same steps in one folder: it starts often, and is stopped,
// killed at many moments, refused, upgraded and rolled back. After each step the whole folder is
// compared with what it was before. TestOptions reads the help of all commands: an option that names
// a file is in the tables of this package.
package restart
