package wire
import ("os";"testing")
func TestGen(t *testing.T){ os.WriteFile("default.tables", untrained().Bytes(), 0o644) }
