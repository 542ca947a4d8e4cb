// Package imagefile stores the image of a world on disk, in generations, for one process
// at a time. Its API is for packages server and host, and may change in any release. The files
// do not change without a line in CHANGELOG.md.
//
// The files of the image FILE:
//
//	FILE                                    the newest generation, number 0
//	FILE.old-1, FILE.old-2, ...             older generations
//	FILE.run                                the newest generation of handles that any run of the world has issued
//	FILE.lock                               locked by the process that has FILE open
//	FILE.worldd-<16 hex>.tmp                an image being written
//	FILE.damaged, FILE.old-1.damaged, ...   generations that failed their checksums
//	FILE.skipped, FILE.old-1.skipped, ...   generations newer than the one that LoadGeneration was told to load
//	FILE.kept-<8 hex>                       the last image of another version of the program, of which this one drops a part
//
// Open resolves symbolic links in FILE once. All of these files lie beside the file that
// FILE resolves to, under its name. Close removes FILE.lock and FILE.run if there is no image.
//
// Invariants, cited in code and tests:
//
//	G1 One process has an image open. If files cannot be locked, Unlocked returns
//	   the reason, and nothing is swept.
//	G2 Every name above belongs to one FILE: Open refuses a FILE whose name could
//	   belong to another.
//	G3 Whenever a save is interrupted, Load finds the image being saved or the one
//	   saved before.
//	G4 A generation that is damaged or skipped leaves the rotation, so that it displaces
//	   no valid one.
//	G5 Load changes no file: a program that cannot continue the world leaves all as it is. A
//	   generation whose checksums are right is never renamed unless the operator skips it, and
//	   no older one is loaded in its place.
//	G6 The first save after a Load does not rotate, so a program that crashes after each start
//	   displaces no generation. It rotates if Image.Setup has changed: after an upgrade,
//	   FILE.old-1 is the last image of the old program.
//	G7 A run's handles are newer than those of all earlier runs, whichever generation or backup
//	   it continues (H5).
//	G8 An image of which the program drops components or fields stays, outside of the rotation, as
//	   FILE.kept-<8 hex>: one for each setup (Image.Setup).
package imagefile
