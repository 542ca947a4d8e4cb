// Package must takes values out of calls that have to succeed, and errors out of calls that have to
// fail, for tests. A call with another outcome panics, which fails the test with the line of the call.
package must

import "fmt"

// Get returns v. It panics with err unless err is nil.
func Get[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// Do panics with err unless it is nil, like Get.
func Do(err error) {
	if err != nil {
		panic(err)
	}
}

// Fail returns err, for an assertion about it. It panics with v if err is nil, since the call has to
// fail.
func Fail[T any](v T, err error) error {
	if err == nil {
		panic(fmt.Sprintf("no error, but %v", v))
	}
	return err
}

// Have returns v, for calls that report whether there is a value. It panics unless ok.
func Have[T any](v T, ok bool) T {
	if !ok {
		panic("no value")
	}
	return v
}

// Lack panics with v if ok, for calls that report whether there is a value.
func Lack[T any](v T, ok bool) {
	if ok {
		panic(fmt.Sprintf("a value: %v", v))
	}
}
