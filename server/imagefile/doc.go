// Package imagefile stores the image of a world on disk, in generations, for one process
// at a time, and beside it the journal: the frames of all ticks since the image. Its API is for packages server and host, and may change in any release. The files
// do not change without a line in CHANGELOG.md.
//
// The files of the image FILE:
//
//	FILE                                    the newest generation, number 0
//	FILE.old-1, FILE.old-2, ...             older generations
//	FILE.run                                the newest generation of handles that any run of the world has issued
//	FILE.crash                              the newest panic of a process that saved to FILE: its tick, text and number
//	FILE.lock                               locked by the process that has FILE open
//	FILE.ended                              the world has ended for good: nothing is restored from the other files
//	FILE.worldd-<16 hex>.tmp                an image being written
//	FILE.pending-<16 hex>                   an image that awaits its confirmation, by the beginning of its SHA-256
//	FILE.confirmed                          what has confirmed the newest image last
//	FILE.stale                              the newest image of a world that has ended or continues elsewhere, as another program says
//	FILE.damaged, FILE.old-1.damaged, ...   generations that failed their checksums
//	FILE.skipped, FILE.old-1.skipped, ...   generations newer than the one that LoadGeneration was told to load, or before ticks
//	                                        that made the world panic
//	FILE.kept-<8 hex>                       the last image of another version of the program, of which this one drops a part
//	FILE.journal-<run>-<tick>               a segment of the journal: its run and the tick at which it begins, 16 hex digits each
//	FILE.journal-<run>-<tick>-<n>           the next segment that begins at this tick, after ones without frames
//	FILE.journal-<run>-<tick>.lossy         a segment after which ticks are missing
//
// Open resolves symbolic links in FILE once. All of these files lie beside the file that
// FILE resolves to, under its name. Close removes FILE.lock, FILE.run, FILE.crash, FILE.confirmed and the segments if there is no image.
//
// A journal writes one segment at a time. The next begins whenever an image is taken, at its tick:
//
//	image 0        image 600       image 1200 (being saved)
//	|              |               |
//	[ 0: 1 ... 600 ][ 600: ... 1200 ][ 1200: ... 1234
//
// So the ticks up to 1234 follow from any of the three images. Recover restores the newest one that is
// whole, and repeats the segments from there. It cuts nothing: the next segment follows the last whole frame of
// one with a torn end.
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
//	   it continues (H5), unless its range of generations is below them: whoever chose the range ensures that
//	   nobody keeps handles in it.
//	G8 An image of which the program drops components or fields stays, outside of the rotation, as
//	   FILE.kept-<8 hex>: one for each setup (Image.Setup). So does an image whose journal another
//	   setup has written, with this journal: the dropped part may be in it alone.
//	G9 A segment has its name only once its head is durable, and begins only once all of the segment
//	   before it is: only the last segment of a run may have a torn end.
//	G10 A write or sync that failed is never repeated on the same segment: its contents are unknown
//	   from then on. Frames are written again from the next image.
//	G11 With JournalAlways, output of a tick leaves once its frame is durable, or once it is durable that
//	   ticks are missing (.lossy). If neither is possible, it never leaves.
//	G12 A segment is removed only if no image leads to it, apart from a bound on what older images keep.
//	G13 Recover changes no file, and repeats no frame that follows a torn, missing or changed byte. It
//	   names that byte. The run continues only if nothing is missing that was durable. A slow disk writes several frames at
//	   once. If a power loss tears one of them before the last, that is taken for damage, and a new run begins, although no output
//	   of these ticks has left.
//	G14 Once MarkEnded has returned, no crash brings the world back: Open removes what Remove has left.
//	G15 What Recovery.Until or LoadGeneration skips stays until the operator removes FILE.skipped: the image before it has
//	   this name, and its journal stays with it (G12). There is one: the next skip fails with ErrSkipped.
//	G16 FILE.crash is evidence of a panic: only a process that panics writes it, and if that is interrupted, the
//	   note before is there.
//	G17 A run without output may leave no trace: whenever Journal.Discard is interrupted, the next
//	   start finds the ticks before the discarded segment, or these and those in it.
//	G18 With ConfirmBy an image is the newest generation only if it was confirmed. An image whose confirmation had no clear answer
//	   stays as FILE.pending-<16 hex> until Settle or the next confirmed Save: one of these files or FILE is the confirmed image,
//	   whenever the process dies.
package imagefile
