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
