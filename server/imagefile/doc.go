// Package imagefile stores the image of a world on disk, in generations, for one process
// at a time.
//
// The files of the image FILE:
//
//	FILE                                    the newest generation, number 0
//	FILE.old-1, FILE.old-2, ...             older generations
//	FILE.lock                               locked by the process that has FILE open; removed by Close if there is no image
//	FILE.worldd-<16 hex>.tmp                an image being written
//	FILE.damaged, FILE.old-1.damaged, ...   damaged generations, found by Load
//
// Open resolves symbolic links in FILE once. All of these files lie beside the file that
// FILE resolves to, under its name.
//
// Invariants, cited in code and tests:
//
//	G1 One process has an image open. If files cannot be locked, Unlocked returns
//	   the reason, and nothing is swept.
//	G2 Every name above belongs to one FILE: Open refuses a FILE whose name could
//	   belong to another.
//	G3 Whenever a save is interrupted, Load finds the image being saved or the one
//	   saved before.
//	G4 A generation that Load finds damaged leaves the rotation, so that it displaces
//	   no valid one.
package imagefile
