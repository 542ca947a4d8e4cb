package server

import (
	"reflect"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/internal/admin"
	"github.com/worldd/worldd/internal/quicserve"
	"github.com/worldd/worldd/replication"
	"github.com/worldd/worldd/server/session"
	"github.com/worldd/worldd/world"
)

// A Report has every figure of the admin port.
func TestReportIsComplete(t *testing.T) {
	r := admin.Report{
		Tick: admin.TickReport{RateHz: 1}, World: world.Stats{Entities: 1}, StateHash: 1, Sessions: session.Stats{Joined: 1}, Active: 1, Web: 1, Away: 1,
		Replication: replication.Stats{Snapshots: 1}, Traffic: quicserve.Traffic{Datagrams: 1}, Images: admin.Images{Saved: 1}, Journal: admin.Journal{Bytes: 1}, LastTick: time.Unix(1, 0),
	}
	from, to := reflect.ValueOf(r), reflect.ValueOf(reportOf(r))
	require.Equal(t, from.NumField(), to.NumField())
	for i := range to.NumField() {
		require.False(t, from.Field(i).IsZero(), from.Type().Field(i).Name)
		require.False(t, to.FieldByName(from.Type().Field(i).Name).IsZero(), from.Type().Field(i).Name)
	}
}
