package cluster

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
)

// maxAdopted bounds the identities that a directory replaces.
const maxAdopted = 16

// Adopt makes the directory in a store the one of all nodes, whose rooms stand still since it replaced another one (C9). was are
// the identities that these nodes know (Status.Directory). The rooms continue after the time of a lease, each on its node and in its
// block, unless another node has taken these before. New rooms begin a lease later. Adopt returns the directory's new identity.
func Adopt(ctx context.Context, store Store, random *rand.Rand, was ...string) (string, error) {
	entries, _, err := ReadAll(ctx, store, identityKey)
	if err != nil {
		return "", err
	}
	r := identityRecord{Version: recordVersion, ID: tokenText(random.Uint64()), Was: slices.Clone(was)}
	found := (&answer{page: Page{Entries: entries}}).entry(identityKey)
	if found.Value != nil {
		// One that cannot be read is replaced.
		if present, err := parseIdentity(found.Value); err == nil && !slices.Contains(r.Was, present.ID) {
			r.Was = append(r.Was, present.ID)
		}
	}
	value := encode(r)
	if _, err := parseIdentity(value); err != nil {
		return "", fmt.Errorf("cluster: adopt: %w", err)
	}
	if _, err := store.Swap(ctx, Swap{identityKey, value, found.Revision}); err != nil {
		return "", err
	}
	return r.ID, nil
}

// ForgetImage lets a room that nobody runs begin without its newest image, for an operator who has lost all copies. It returns that
// image. The room begins with an older image that its next node may have.
func ForgetImage(ctx context.Context, store Store, room string) (*Image, error) {
	return changeImage(ctx, store, room, func(i *Image) error {
		i.Any = true
		return nil
	})
}

// NameCopies makes the directory name the nodes of an image, the last 16, if it still is the newest of a room that nobody runs.
func NameCopies(ctx context.Context, store Store, room string, image *Image) error {
	_, err := changeImage(ctx, store, room, func(i *Image) error {
		if i.Name() != image.Name() {
			return fmt.Errorf("cluster: the newest image of room %s is another one by now", room)
		}
		i.Nodes = image.Nodes[max(0, len(image.Nodes)-maxImageNodes):]
		return i.Check()
	})
	return err
}

// changeImage changes the pointer to the newest image of a room that nobody runs, unless the room's record changes meanwhile.
func changeImage(ctx context.Context, store Store, room string, change func(*Image) error) (*Image, error) {
	if err := wrongName(room); err != nil {
		return nil, fmt.Errorf("cluster: room: %w", err)
	}
	entries, _, err := ReadAll(ctx, store, roomKey(room))
	if err != nil {
		return nil, err
	}
	found := (&answer{page: Page{Entries: entries}}).entry(roomKey(room))
	if found.Value == nil {
		return nil, fmt.Errorf("cluster: room %s has no image, and no node", room)
	}
	r, err := parseRoom(found.Key, found.Value)
	switch {
	case err != nil:
		return nil, err
	case r.State == roomOpen:
		return nil, fmt.Errorf("cluster: room %s runs on node %s: it has its image", room, r.Node)
	case r.Image == nil:
		return nil, fmt.Errorf("cluster: room %s has no image", room)
	}
	changed := *r.Image
	err = change(&changed)
	if err != nil {
		return nil, err
	}
	r.Image = &changed
	_, err = store.Swap(ctx, Swap{found.Key, encodeRoom(r), found.Revision})
	return &changed, err
}
