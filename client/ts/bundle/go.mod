module github.com/worldd/worldd/client/ts/bundle

go 1.26.0

require (
	github.com/evanw/esbuild v0.28.2
	github.com/stretchr/testify v1.12.1
	github.com/worldd/worldd v0.0.0
)

require (
	github.com/quic-go/quic-go v0.64.1 // indirect
	github.com/vmihailenco/msgpack/v5 v5.3.6 // indirect
	github.com/vmihailenco/tagparser/v2 v2.0.0 // indirect
	go.uber.org/multierr v1.10.0 // indirect
	go.uber.org/zap v1.28.0 // indirect
	go.yaml.in/yaml/v3 v3.0.5 // indirect
	golang.org/x/crypto v0.57.0 // indirect
	golang.org/x/net v0.59.0 // indirect
	golang.org/x/sys v0.49.0 // indirect
)

replace github.com/worldd/worldd => ../../..
