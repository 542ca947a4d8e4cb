module github.com/worldd/worldd/client/ts/bundle

go 1.26.0

require (
	github.com/evanw/esbuild v0.28.2
	github.com/stretchr/testify v1.12.1
	github.com/worldd/worldd v0.0.0
)

require (
	go.yaml.in/yaml/v3 v3.0.5 // indirect
	golang.org/x/sys v0.49.0 // indirect
)

replace github.com/worldd/worldd => ../../..
