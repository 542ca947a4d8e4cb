// Package imagefile keeps the image of a world on a disk, in generations, for one
// process at a time.
//
// The files of the image FILE:
//
//	FILE                                    the newest generation, number 0
//	FILE.old-1, FILE.old-2, ...             older generations
//	FILE.lock                               locked by the process that has FILE open; it stays
//	FILE.worldd-<16 hex>.tmp                an image being written
//	FILE.damaged, FILE.old-1.damaged, ...   generations that Load could not read
//
// Symbolic links in FILE are followed once, by Open: all of these lie beside the
// file that FILE stands for, under its name.
//
// Invariants, cited in code and tests:
//
//	F1 One process has an image open. Where files cannot be locked, Unlocked says
//	   so, and nothing is swept.
//	F2 Every name above belongs to one FILE: Open refuses a FILE that is named like
//	   a file of another.
//	F3 Whenever a save is interrupted, Load finds the image that was being saved or
//	   the one saved before.
//	F4 A generation that Load found damaged leaves the rotation, so that it pushes
//	   out no whole one.
package imagefile
