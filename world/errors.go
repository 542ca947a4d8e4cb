package world

import "errors"

// The errors of this package; what is returned wraps one of them and says what
// to do. All of them are the caller's, or of a file that the caller brought: the
// world itself has nothing that fails.
var (
	// ErrFull: a limit of the configuration or of the package is reached.
	ErrFull = errors.New("world: full")
	// ErrName: a name is empty or taken.
	ErrName = errors.New("world: name")
	// ErrType: a component type cannot be stored.
	ErrType = errors.New("world: type")
	// ErrUnknown: a kind or component does not belong to this world.
	ErrUnknown = errors.New("world: unknown")
	// ErrValue: a number is not finite or out of its range.
	ErrValue = errors.New("world: value")
	// ErrImage: the bytes are no image, or a damaged one. Take an older copy.
	ErrImage = errors.New("world: image damaged")
	// ErrImageVersion: the image was written by another version of this package.
	ErrImageVersion = errors.New("world: image of another version")
	// ErrImageWorld: the image is of a world that was set up in another way:
	// other settings, kinds or component types.
	ErrImageWorld = errors.New("world: image of another world")
)
