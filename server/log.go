package server

import (
	"strings"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"github.com/worldd/worldd/internal/printable"
)

// auditName names the loggers whose lines are never sampled away: sessions, refused tokens, and requests
// of operators.
const auditName = "audit"

// auditLogger returns a logger for the audit trail. The limits on handshakes and on the admin port bound
// its lines.
func auditLogger(log *zap.Logger) *zap.Logger { return log.Named(auditName) }

// auditCore samples all lines except the audit trail.
type auditCore struct {
	zapcore.Core // sampled
	whole        zapcore.Core
}

// With implements zapcore.Core.
func (c auditCore) With(fields []zapcore.Field) zapcore.Core {
	return auditCore{c.Core.With(fields), c.whole.With(fields)}
}

// Check implements zapcore.Core.
func (c auditCore) Check(e zapcore.Entry, checked *zapcore.CheckedEntry) *zapcore.CheckedEntry {
	if strings.HasSuffix(e.LoggerName, auditName) {
		return c.whole.Check(e, checked)
	}
	return c.Core.Check(e, checked)
}

// printableCore logs texts in the form of printable.Text. Clients choose names, reasons and
// error messages, and an operator's terminal shows the log.
type printableCore struct{ zapcore.Core }

// With implements zapcore.Core.
func (c printableCore) With(fields []zapcore.Field) zapcore.Core {
	return printableCore{c.Core.With(printableFields(fields))}
}

// Check implements zapcore.Core.
func (c printableCore) Check(e zapcore.Entry, checked *zapcore.CheckedEntry) *zapcore.CheckedEntry {
	if c.Enabled(e.Level) {
		return checked.AddCore(e, c)
	}
	return checked
}

// Write implements zapcore.Core.
func (c printableCore) Write(e zapcore.Entry, fields []zapcore.Field) error {
	e.Message = printable.Text(e.Message)
	return c.Core.Write(e, printableFields(fields))
}

// printableFields returns the fields with texts and errors made printable. Stacks keep their
// lines, since they are zap.ByteString.
func printableFields(fields []zapcore.Field) []zapcore.Field {
	safe := make([]zapcore.Field, len(fields))
	for i, f := range fields {
		err, failed := f.Interface.(error)
		switch {
		case f.Type == zapcore.StringType:
			f.String = printable.Text(f.String)
		case f.Type == zapcore.ErrorType && failed:
			f = zap.String(f.Key, printable.Text(err.Error()))
		}
		safe[i] = f
	}
	return safe
}
