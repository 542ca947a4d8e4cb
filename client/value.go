package client

import "reflect"

// ReadValue is Component.Get for programs that handle components of any game: v points to a struct of the type that
// Config.Schema declares for the component of the given number. Fields that e lacks, or that only owners receive, stay
// unchanged. It returns false if e lacks the component or is nil.
func (e *Entity) ReadValue(number int, v any) bool {
	n := e.valueNumber(number)
	if n < 0 {
		return false
	}
	restoreInto(e, n, e.newestValues(n), v)
	if e.isBody(n) && e.layout.declaredBody != nil {
		if s, _, ok := e.Exact(); ok {
			e.layout.declaredBody.SetBody(reflect.ValueOf(v).UnsafePointer(), &s)
		}
	}
	predictedEntity{e}.WriteTexts(n, v)
	return true
}

// ReadValueAt is Component.At for such programs: see ReadValue.
func (e *Entity) ReadValueAt(number int, m Moment, v any) bool {
	n := e.valueNumber(number)
	if n < 0 {
		return false
	}
	of := predictedEntity{e}
	of.WriteAt(n, m.forPrediction(), e.layout.declaredBody, v)
	of.WriteTexts(n, v)
	return true
}

// valueNumber returns the server's number of a component of Config.Schema, or -1 if e lacks it or is nil.
func (e *Entity) valueNumber(number int) int {
	if e == nil || e.layout.declared == nil {
		return -1
	}
	return max(predictedEntity{e}.ComponentOf(number), -1)
}
