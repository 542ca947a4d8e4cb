module github.com/worldd/worldd/internal/fieldrender

go 1.26.0

require (
	github.com/stretchr/testify v1.12.1
	github.com/worldd/worldd v0.0.0
	golang.org/x/image v0.47.0
	pgregory.net/rapid v1.3.0
)

require (
	github.com/alecthomas/kong v1.17.0 // indirect
	github.com/natefinch/atomic v1.0.1 // indirect
	go.yaml.in/yaml/v3 v3.0.5 // indirect
	golang.org/x/sys v0.49.0 // indirect
)

replace github.com/worldd/worldd => ../..
