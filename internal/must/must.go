// Package must takes values out of calls that have to succeed, for the set-up of tests.
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
