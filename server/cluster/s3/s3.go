// Package s3 keeps the newest images of a cluster's rooms in a bucket of S3, or of a store that speaks its protocol, so that any
// node can continue a room whose node is lost. It is a module of its own: programs without a bucket need none of it.
//
//	host.Main(host.Definition{..., ImageCopies: s3.FromEnvironment})
//
// An image is the object PREFIX/ROOM.images/NAME, as in the folder of --image-shared, and never changes: its name has the SHA-256 of its bytes, which
// the request signs, so that the store refuses others, and a node checks them after it has read them. Which image is the newest only the
// cluster's directory says. So the bucket needs no conditional writes and no order, only that an object that was written can be read.
package s3

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"

	"github.com/worldd/worldd/server"
	"github.com/worldd/worldd/server/imagefile"
)

const (
	// defaultPatience bounds a call, as a save waits for the copies of nodes.
	defaultPatience = 40 * time.Second
	// tries bounds the requests for one call: a store that is busy, or that fails, is asked again after up to a second.
	tries = 3
	// machineTimeout bounds the question for keys to the machine's provider, which elsewhere does not answer.
	machineTimeout = 5 * time.Second
	// maxListed bounds a listing. A room has one or two images, unless removals have failed.
	maxListed = 1000
	// imagesSuffix ends the folder of a room: the name of no other room begins with the folder's.
	imagesSuffix = ".images"
)

// marker is the object that Open writes and reads to see that the keys allow it.
const (
	marker     = "worldd-images"
	markerText = "Images of rooms, version 1. The cluster's directory names the newest one of each room.\n"
)

// Config says where the images are.
type Config struct {
	// URL is https://HOST/BUCKET or https://HOST/BUCKET/PREFIX, and http only on loopback.
	URL string
	// Region of the bucket. If empty, the store is asked, which needs the permission GetBucketLocation.
	Region string
	// Keys give access. nil: the variables AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, else ~/.aws/credentials, else the machine's role.
	Keys *credentials.Credentials
	// Patience bounds each call, with its repetitions. Default 40 s.
	Patience time.Duration
}

// FromEnvironment opens the bucket that IMAGE_S3_URL names, in the region AWS_REGION, with the keys of Config.Keys. Without this variable it returns
// nil. It is a host.Definition.ImageCopies.
func FromEnvironment(ctx context.Context) (server.ImageCopies, error) {
	at := os.Getenv("IMAGE_S3_URL")
	if at == "" {
		return nil, nil
	}
	b, err := Open(ctx, Config{URL: at, Region: os.Getenv("AWS_REGION")})
	if err != nil {
		return nil, fmt.Errorf("IMAGE_S3_URL: %w", err)
	}
	return b, nil
}

// Bucket is server.ImageCopies in a bucket. Any goroutine calls its methods.
type Bucket struct {
	client   minio.Core
	name     string // of the bucket
	prefix   string // empty, or ends with a slash
	patience time.Duration
}

// Open returns the bucket, once it has seen that the keys may write, read, list and remove there.
func Open(ctx context.Context, c Config) (*Bucket, error) {
	at, name, prefix, err := parse(c.URL)
	if err != nil {
		return nil, err
	}
	keys := c.Keys
	if keys == nil {
		keys = credentials.NewChainCredentials([]credentials.Provider{
			&credentials.EnvAWS{}, &credentials.FileAWSCredentials{}, &credentials.IAM{Client: &http.Client{Timeout: machineTimeout}},
		})
	}
	client, err := minio.New(at.Host, &minio.Options{Creds: keys, Secure: at.Scheme == "https", Region: c.Region, MaxRetries: tries})
	if err != nil {
		return nil, fmt.Errorf("s3: %w", err)
	}
	b := &Bucket{client: minio.Core{Client: client}, name: name, prefix: prefix, patience: cmp.Or(c.Patience, defaultPatience)}
	return b, b.try(ctx)
}

// parse returns the parts of a bucket's URL.
func parse(text string) (at *url.URL, bucket, prefix string, err error) {
	at, err = url.Parse(text)
	if err != nil || at.Host == "" || at.User != nil || at.RawQuery != "" || at.Scheme != "https" && at.Scheme != "http" {
		return nil, "", "", fmt.Errorf("s3: %q is no bucket: want https://HOST/BUCKET or https://HOST/BUCKET/PREFIX, without keys", redacted(at, text))
	}
	bucket, prefix, _ = strings.Cut(strings.Trim(at.Path, "/"), "/")
	if bucket == "" {
		return nil, "", "", fmt.Errorf("s3: %s names no bucket: want %s://%s/BUCKET", text, at.Scheme, at.Host)
	}
	if ip := net.ParseIP(at.Hostname()); at.Scheme == "http" && at.Hostname() != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return nil, "", "", fmt.Errorf("s3: %s is not on loopback: use https, since images have all that players do", text)
	}
	if prefix != "" {
		prefix += "/"
	}
	return at, bucket, prefix, nil
}

// redacted is a URL without its password.
func redacted(at *url.URL, text string) string {
	if at == nil {
		return text
	}
	return at.Redacted()
}

// try writes the marker, reads and lists it, and removes an object that does not exist.
func (b *Bucket) try(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, b.patience)
	defer cancel()
	key := b.prefix + marker
	if _, err := b.client.Client.PutObject(ctx, b.name, key, strings.NewReader(markerText), int64(len(markerText)), minio.PutObjectOptions{DisableMultipart: true}); err != nil {
		return b.explain("write", key, err)
	}
	from, _, _, err := b.client.GetObject(ctx, b.name, key, minio.GetObjectOptions{})
	if err != nil {
		return b.explain("read", key, err)
	}
	text, err := io.ReadAll(io.LimitReader(from, int64(len(markerText))+1))
	if err = errors.Join(err, from.Close()); err != nil {
		return b.explain("read", key, err)
	}
	if !bytes.Equal(text, []byte(markerText)) {
		return fmt.Errorf("s3: %s of bucket %s has other bytes than were written: the store is none, or another program uses this prefix", key, b.name)
	}
	if _, err := b.list(ctx, key); err != nil {
		return err
	}
	return b.remove(ctx, key+"-none")
}

// explain says what failed, and for the usual mistakes what to do.
func (b *Bucket) explain(what, key string, err error) error {
	advice := ""
	switch minio.ToErrorResponse(err).Code {
	case "NoSuchKey":
		return fmt.Errorf("s3: bucket %s has no %s: %w", b.name, key, fs.ErrNotExist)
	case "NoSuchBucket":
		advice = ": make the bucket, or correct its name"
	case "InvalidAccessKeyId", "SignatureDoesNotMatch", "ExpiredToken", "InvalidToken":
		advice = ": the keys are not the store's"
	case "AccessDenied":
		advice = ": the keys need the permissions PutObject, GetObject, DeleteObject and ListBucket"
	case "RequestTimeTooSkewed":
		advice = ": set this machine's clock"
	}
	return fmt.Errorf("s3: cannot %s %s of bucket %s: %w%s", what, key, b.name, err, advice)
}

// folder begins the keys of a room's images.
func (b *Bucket) folder(room string) string { return b.prefix + room + imagesSuffix + "/" }

// PutImage implements server.ImageCopies. An object with the image's name has the same bytes.
func (b *Bucket) PutImage(room string, image server.RoomImage, path string) ([]string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), b.patience)
	defer cancel()
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("s3: %w", err)
	}
	defer file.Close() // only read
	key := b.folder(room) + image.Name()
	if _, err := b.client.PutObject(ctx, b.name, key, file, image.Bytes, "", image.Sum, minio.PutObjectOptions{DisableContentSha256: true}); err != nil {
		return nil, b.explain("write", key, err)
	}
	return nil, nil
}

// HasImage implements server.ImageCopies. The bucket may have any image, and is not asked.
func (b *Bucket) HasImage(string, server.RoomImage) bool { return true }

// OpenImage implements server.ImageCopies. The reader ends with the patience of the bucket.
func (b *Bucket) OpenImage(room string, image server.RoomImage) (io.ReadCloser, error) {
	ctx, cancel := context.WithTimeout(context.Background(), b.patience)
	key := b.folder(room) + image.Name()
	from, info, _, err := b.client.GetObject(ctx, b.name, key, minio.GetObjectOptions{})
	if err != nil {
		cancel()
		return nil, b.explain("read", key, err)
	}
	if info.Size != image.Bytes {
		cancel()
		return nil, errors.Join(fmt.Errorf("s3: %s of bucket %s has %d bytes, not the image's %d: somebody has replaced it", key, b.name, info.Size, image.Bytes), from.Close())
	}
	return &timedReader{from, cancel}, nil
}

// timedReader reads an object until a time.
type timedReader struct {
	io.ReadCloser
	cancel context.CancelFunc
}

func (r *timedReader) Close() error {
	r.cancel()
	return r.ReadCloser.Close()
}

// PruneImages implements server.ImageCopies.
func (b *Bucket) PruneImages(room string, newest *server.RoomImage) error {
	ctx, cancel := context.WithTimeout(context.Background(), b.patience)
	defer cancel()
	keys, err := b.list(ctx, b.folder(room))
	for _, key := range keys {
		if name := strings.TrimPrefix(key, b.folder(room)); newest == nil || newest.IsOld(name) {
			err = errors.Join(err, b.remove(ctx, key))
		}
	}
	return err
}

// PutJournals implements server.ImageCopies. Objects do not grow: a bucket has images alone.
func (b *Bucket) PutJournals(context.Context, []server.RoomJournal) error { return nil }

// ReadJournal implements server.ImageCopies.
func (b *Bucket) ReadJournal(string, server.RoomImage) ([]imagefile.CopiedSegment, error) {
	return nil, nil
}

// list returns up to maxListed keys that begin with prefix. The next listing has what is beyond.
func (b *Bucket) list(ctx context.Context, prefix string) (keys []string, err error) {
	for o := range b.client.ListObjectsIter(ctx, b.name, minio.ListObjectsOptions{Prefix: prefix, Recursive: true, MaxKeys: maxListed}) {
		if o.Err != nil {
			return nil, b.explain("list", prefix, o.Err)
		}
		keys = append(keys, o.Key)
		if len(keys) == maxListed {
			break
		}
	}
	return keys, nil
}

// remove removes an object, if there is one.
func (b *Bucket) remove(ctx context.Context, key string) error {
	if err := b.client.RemoveObject(ctx, b.name, key, minio.RemoveObjectOptions{}); err != nil {
		return b.explain("remove", key, err)
	}
	return nil
}
