package server

import (
	"context"
	"crypto/rand"
	"reflect"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/internal/stage"
	"github.com/worldd/worldd/replication/schema"
	"github.com/worldd/worldd/replication/wire"
	"github.com/worldd/worldd/server/session"
	"github.com/worldd/worldd/world"
)

// Config has every field of session.Config except the Router and HoldOutput, which follows from Image, and
// sessionConfig passes on each.
func TestConfigSession(t *testing.T) {
	var c Config
	fields := slices.DeleteFunc(reflect.VisibleFields(reflect.TypeFor[session.Config]()), func(f reflect.StructField) bool { return f.Name == "Router" || f.Name == "HoldOutput" })
	for i, f := range fields {
		own := reflect.ValueOf(&c).Elem().FieldByName(f.Name)
		require.True(t, own.IsValid(), f.Name)
		setNonZero(own, i+1)
	}
	passed := reflect.ValueOf(c.sessionConfig())
	for i, f := range fields {
		got := passed.FieldByIndex(f.Index)
		require.False(t, got.IsZero(), f.Name)
		if got.CanInt() {
			require.EqualValues(t, i+1, got.Int(), f.Name)
		}
	}
}

// setNonZero sets v to a value of its type that differs from zero, and to n if it is an
// integer.
func setNonZero(v reflect.Value, n int) {
	switch v.Kind() {
	case reflect.Struct:
		setNonZero(v.Field(0), n)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
	case reflect.Func:
		v.Set(reflect.MakeFunc(v.Type(), nil))
	case reflect.Interface:
		v.Set(reflect.ValueOf(rand.Reader))
	case reflect.Bool:
		v.SetBool(true)
	default:
		v.Set(reflect.ValueOf(n).Convert(v.Type()))
	}
}

// Admit's context ends after 5 s, and the client learns that its token is not at fault.
func TestAdmitTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		core := must.Get(session.NewCore(Config{WorldConfig: WorldConfig{World: stage.NewCrates(world.Config{}).World, Schema: schema.NewWithBody()}, Admit: func(ctx context.Context, _ []byte) (Admission, error) {
			<-ctx.Done()
			return Admission{}, ctx.Err()
		}}.sessionConfig()))
		conn := &stage.Conn{}
		conn.Peer = core.Open(t.Context(), "", conn)
		began := time.Now()
		require.NoError(t, conn.Send(stage.Hello(core.Config().Schema)))
		require.Equal(t, 5*time.Second, time.Since(began))
		core.Tick()
		require.Equal(t, []wire.Code{wire.Internal}, conn.Closed)
	})
}
