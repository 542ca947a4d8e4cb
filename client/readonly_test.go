package client_test

import (
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/client"
)

// reachable adds the types of package client that a caller gets from the results
// of t's methods.
func reachable(t reflect.Type, found map[reflect.Type]bool) {
	if found[t] {
		return
	}
	switch t.Kind() {
	case reflect.Func: // an iterator yields its arguments' arguments
		for i := range t.NumIn() {
			reachable(t.In(i), found)
		}
		return
	case reflect.Pointer, reflect.Struct:
		if base := t; base.Kind() == reflect.Pointer && base.Elem().PkgPath() != reflect.TypeFor[client.Client]().PkgPath() {
			return
		}
		found[t] = true
	default:
		return
	}
	for i := range t.NumMethod() {
		method := t.Method(i).Type
		for j := range method.NumOut() {
			reachable(method.Out(j), found)
		}
	}
}

// No value that a Client returns can drive its protocol: only callers that made a Session can
// feed it.
func TestClientCannotBeDriven(t *testing.T) {
	session := reflect.TypeFor[*client.Session]()
	driving := []string{"TakeStream", "ReceiveStream", "ReceiveDatagram", "Input", "Lost", "Reconnect"}
	types := map[reflect.Type]bool{}
	reachable(reflect.TypeFor[*client.Client](), types)
	require.Contains(t, types, reflect.TypeFor[*client.Replica]())
	require.Contains(t, types, reflect.TypeFor[*client.Entity](), "Replica.All yields them")
	for _, name := range driving {
		_, ok := session.MethodByName(name)
		require.True(t, ok, name)
		for x := range types {
			_, ok := x.MethodByName(name)
			require.False(t, ok, "%v.%s is within reach of a Client's user", x, name)
		}
	}
}
