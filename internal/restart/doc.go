// Package restart tests that files outlive the processes that write them. All programs of the module
// are built as they are, and games also as their next version: with a further component, kind and
// command. Each server lives through the same steps in one folder: it starts often, and is stopped,
// killed at many moments, refused, upgraded and rolled back. After each step the whole folder is
// compared with its content before. Commands that write a file and end are killed and refused. The help
// of all commands is read, so that no option that names a file is missing in the tables.
package restart
