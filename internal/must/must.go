// Package must takes values out of calls that have to succeed, and errors out of calls that have to
// fail, for tests.
package must

// Get returns v. It panics with err unless err is nil, which fails the test with the error and the
// line of the call.
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

// Fail returns err, for an assertion about it. It panics if err is nil, since the call has to fail.
func Fail[T any](_ T, err error) error {
	if err == nil {
		panic("no error")
	}
	return err
}
