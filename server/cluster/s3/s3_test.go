package s3

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"
	"github.com/minio/minio-go/v7/pkg/credentials"
	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/server"
)

// store is S3 in this process, with the bucket rooms. It accepts the keys of node, and refuses bytes that have not the sum that the request signs.
type store struct {
	*httptest.Server
	objects *s3mem.Backend

	mu     sync.Mutex
	answer func(http.ResponseWriter, *http.Request) bool // unless it returns false, it has answered instead of the store
	asked  map[string]int                                // requests by method
}

func newStore(t testing.TB) *store {
	s := &store{objects: s3mem.New(), asked: map[string]int{}}
	require.NoError(t, s.objects.CreateBucket("rooms"))
	fake := gofakes3.New(s.objects, gofakes3.WithLogger(gofakes3.DiscardLog())).Server()
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		answer := s.answer
		s.asked[r.Method]++
		s.mu.Unlock()
		switch {
		case answer != nil && answer(w, r):
		case !strings.Contains(r.Header.Get("Authorization"), "Credential=node/"):
			fail(w, http.StatusForbidden, "InvalidAccessKeyId")
		case r.Method == http.MethodPut && !strings.HasPrefix(r.Header.Get("X-Amz-Content-Sha256"), "STREAMING"):
			body, err := io.ReadAll(r.Body)
			if sum := sha256.Sum256(body); err != nil || hex.EncodeToString(sum[:]) != r.Header.Get("X-Amz-Content-Sha256") {
				fail(w, http.StatusBadRequest, "XAmzContentSHA256Mismatch")
				return
			}
			r.Body = io.NopCloser(bytes.NewReader(body))
			fake.ServeHTTP(w, r)
		default:
			fake.ServeHTTP(w, r)
		}
	}))
	t.Cleanup(s.Close)
	return s
}

// fail answers with an error of S3.
func fail(w http.ResponseWriter, status int, code string) {
	w.WriteHeader(status)
	_, _ = fmt.Fprintf(w, "<Error><Code>%s</Code><Message>by the test</Message></Error>", code)
}

// set makes the store answer otherwise.
func (s *store) set(answer func(http.ResponseWriter, *http.Request) bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answer = answer
	clear(s.asked)
}

// counts returns how often the store was asked since set.
func (s *store) counts() map[string]int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.asked)
}

// keys returns what the bucket has.
func (s *store) keys(t testing.TB) (keys []string) {
	list, err := s.objects.ListBucket("rooms", nil, gofakes3.ListBucketPage{})
	require.NoError(t, err)
	for _, o := range list.Contents {
		keys = append(keys, o.Key)
	}
	slices.Sort(keys)
	return keys
}

func (s *store) config(path string) Config {
	return Config{URL: s.URL + path, Region: "us-east-1", Keys: credentials.NewStaticV4("node", "secret", "")}
}

// image returns an image of a run, and the file that has it.
func image(t testing.TB, epoch, tick uint64, text string) (server.RoomImage, string) {
	path, sum := filepath.Join(t.TempDir(), "room.image"), sha256.Sum256([]byte(text))
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	return server.RoomImage{Epoch: epoch, Tick: tick, Bytes: int64(len(text)), Sum: hex.EncodeToString(sum[:])}, path
}

// put puts an image and returns it.
func put(t testing.TB, b *Bucket, room string, epoch, tick uint64, text string) server.RoomImage {
	i, path := image(t, epoch, tick, text)
	nodes, err := b.PutImage(room, i, path)
	require.NoError(t, err)
	require.Empty(t, nodes, "no node has it")
	return i
}

func read(t testing.TB, b *Bucket, room string, i server.RoomImage) string {
	from, err := b.OpenImage(room, i)
	require.NoError(t, err)
	defer from.Close()
	return string(must.Get(io.ReadAll(from)))
}

// A node reads the images that another one puts. Pruning removes what is older than the newest image of this room, and of no other one.
func TestImages(t *testing.T) {
	s := newStore(t)
	a, b := must.Get(Open(t.Context(), s.config("/rooms/game/eu"))), must.Get(Open(t.Context(), s.config("/rooms/game/eu/")))
	large := strings.Repeat("a large image ", 1<<16)
	old, newest, of7 := put(t, a, "lobby", 9, 300, "old"), put(t, a, "lobby", 10, 4, large), put(t, a, "lobby/7", 1, 2, "seven")
	require.Equal(t, newest, put(t, a, "lobby", 10, 4, large), "as after a save without an answer")
	require.True(t, b.HasImage("lobby", newest))
	require.True(t, large == read(t, b, "lobby", newest))
	require.Equal(t, "seven", read(t, b, "lobby/7", of7))
	require.Equal(t, "old", read(t, b, "lobby", old))

	require.NoError(t, b.PruneImages("lobby", &newest))
	_, err := a.OpenImage("lobby", old)
	require.ErrorIs(t, err, fs.ErrNotExist)
	kept := []string{"game/eu/lobby.images/" + newest.Name(), "game/eu/lobby/7.images/" + of7.Name(), "game/eu/" + marker}
	require.Equal(t, kept, s.keys(t))
	require.NoError(t, b.PruneImages("lobby", nil))
	require.NoError(t, b.PruneImages("lobby", nil), "it has none")
	require.Equal(t, kept[1:], s.keys(t))
}

// Two nodes put images of one room at once: the one that had it, which does not know yet that it has lost the room, and its heir. Each
// object is whole, and the newest stays.
func TestNodesAtOnce(t *testing.T) {
	s := newStore(t)
	b := must.Get(Open(t.Context(), s.config("/rooms")))
	late, latePath := image(t, 3, 900, strings.Repeat("late", 1<<18))
	heirs, heirsPath := image(t, 4, 10, strings.Repeat("heir", 1<<18))
	results := make(chan error, 16)
	for range 8 {
		go func() { results <- errorOf(b.PutImage("match/1", late, latePath)) }()
		go func() { results <- errorOf(b.PutImage("match/1", heirs, heirsPath)) }()
	}
	for range 16 {
		require.NoError(t, <-results)
	}
	require.True(t, strings.Repeat("heir", 1<<18) == read(t, b, "match/1", heirs))
	require.True(t, strings.Repeat("late", 1<<18) == read(t, b, "match/1", late))
	require.NoError(t, b.PruneImages("match/1", &heirs))
	require.NoError(t, b.PruneImages("match/1", &heirs))
	require.Equal(t, []string{"match/1.images/" + heirs.Name(), marker}, s.keys(t))
}

// A start names what is wrong, before any room is saved.
func TestWrongBuckets(t *testing.T) {
	s := newStore(t)
	for url, says := range map[string]string{
		"":                          "is no bucket: want https://HOST/BUCKET",
		"ftp://x/rooms":             "is no bucket",
		"https://x/rooms?a=b":       "is no bucket",
		"https://ada:key@x/rooms":   "https://ada:xxxxx@x/rooms\" is no bucket",
		"https://x":                 "names no bucket",
		"http://192.0.2.1/rooms":    "is not on loopback: use https",
		"http://s3.example/rooms":   "is not on loopback: use https",
		s.URL + "/elsewhere":        "does not exist: make the bucket, or correct its name",
		s.URL + "/x":                "Bucket name cannot be shorter than 3 characters",
		"http://127.0.0.1:9/rooms/": "cannot write worldd-images of bucket rooms",
	} {
		c := s.config("")
		c.URL = url
		require.ErrorContains(t, must.Fail(Open(t.Context(), c)), says, url)
	}
	wrong := s.config("/rooms")
	wrong.Keys = credentials.NewStaticV4("other", "secret", "")
	require.ErrorContains(t, must.Fail(Open(t.Context(), wrong)), "the keys are not the store's")
	for method, says := range map[string]string{http.MethodPut: "cannot write", http.MethodGet: "cannot read", http.MethodDelete: "cannot remove"} {
		s.set(func(w http.ResponseWriter, r *http.Request) bool {
			if r.Method == method {
				fail(w, http.StatusForbidden, "AccessDenied")
			}
			return r.Method == method
		})
		err := must.Fail(Open(t.Context(), s.config("/rooms")))
		require.ErrorContains(t, err, says)
		require.ErrorContains(t, err, "the keys need the permissions PutObject, GetObject, DeleteObject and ListBucket")
	}
	s.set(func(w http.ResponseWriter, r *http.Request) bool {
		if r.Method == http.MethodGet {
			w.Header().Set("Last-Modified", time.Unix(1, 0).UTC().Format(http.TimeFormat))
			_, _ = io.WriteString(w, strings.Repeat("A page of a web server. ", 1000))
		}
		return r.Method == http.MethodGet
	})
	require.ErrorContains(t, must.Fail(Open(t.Context(), s.config("/rooms"))), "another program uses this prefix")
}

// FromEnvironment is how a program gets its bucket.
func TestFromEnvironment(t *testing.T) {
	t.Setenv("IMAGE_S3_URL", "")
	b, err := FromEnvironment(t.Context())
	require.NoError(t, err)
	require.Nil(t, b, "nodes have copies instead")
	s := newStore(t)
	t.Setenv("IMAGE_S3_URL", s.URL+"/rooms")
	t.Setenv("AWS_ACCESS_KEY_ID", "node")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "secret")
	b, err = FromEnvironment(t.Context())
	require.NoError(t, err)
	require.NotNil(t, b)
	t.Setenv("IMAGE_S3_URL", s.URL)
	require.ErrorContains(t, must.Fail(FromEnvironment(t.Context())), "IMAGE_S3_URL: s3: "+s.URL+" names no bucket")
}

// A busy store is asked again, and a store that fails, is full or does not answer fails the save in bounded time: then the bucket has nothing
// of the image, and the next save puts it.
func TestBadStores(t *testing.T) {
	s := newStore(t)
	b := must.Get(Open(t.Context(), s.config("/rooms")))
	short := impatient(b)
	i, path := image(t, 1, 2, "an image")

	busy := 2
	s.set(func(w http.ResponseWriter, r *http.Request) bool {
		busy--
		if busy >= 0 {
			fail(w, http.StatusServiceUnavailable, "SlowDown")
		}
		return busy >= 0
	})
	require.NoError(t, errorOf(b.PutImage("match/1", i, path)))
	require.Equal(t, map[string]int{http.MethodPut: 3}, s.counts())
	require.NoError(t, b.PruneImages("match/1", nil))

	for name, bad := range map[string]struct {
		bucket *Bucket
		answer func(http.ResponseWriter, *http.Request)
		asked  int // 0: not counted
		says   string
	}{
		"fails": {b, func(w http.ResponseWriter, r *http.Request) { fail(w, http.StatusInternalServerError, "InternalError") }, tries, "cannot write match/1.images/1-2-"},
		"is full": {b, func(w http.ResponseWriter, r *http.Request) {
			fail(w, http.StatusInsufficientStorage, "XMinioStorageFull")
		}, 1, "by the test"},
		"is silent": {short, func(w http.ResponseWriter, r *http.Request) { _, _ = io.Copy(io.Discard, r.Body); <-r.Context().Done() }, 0, "deadline exceeded"},
		"hangs up":  {b, func(w http.ResponseWriter, r *http.Request) { panic(http.ErrAbortHandler) }, tries, "Connection closed by foreign host"},
		"talks":     {b, func(w http.ResponseWriter, r *http.Request) { http.Error(w, "<html>", http.StatusTeapot) }, 1, "<html>"},
	} {
		s.set(func(w http.ResponseWriter, r *http.Request) bool { bad.answer(w, r); return true })
		require.ErrorContains(t, must.Fail(bad.bucket.PutImage("match/1", i, path)), bad.says, name)
		if bad.asked > 0 {
			require.Equal(t, bad.asked, s.counts()[http.MethodPut], name)
		}
		require.Error(t, must.Fail(bad.bucket.OpenImage("match/1", i)), name)
		require.Error(t, bad.bucket.PruneImages("match/1", &i), name)
		s.set(nil)
		require.Equal(t, []string{marker}, s.keys(t), name)
	}
	require.NoError(t, errorOf(b.PutImage("match/1", i, path)))
	require.Equal(t, "an image", read(t, b, "match/1", i))
}

// Bytes that are not the image's reach no room. The store refuses bytes that were changed on the way, an object of another size is not
// opened, and an object that ends early or stalls is an error of the reader. imagefile.Store.Install refuses other bytes of the same size.
func TestBadBytes(t *testing.T) {
	s := newStore(t)
	b := must.Get(Open(t.Context(), s.config("/rooms")))
	i, path := image(t, 1, 2, "an image")
	s.set(func(_ http.ResponseWriter, r *http.Request) bool {
		r.Body = io.NopCloser(strings.NewReader("an  mage"))
		return false
	})
	require.ErrorContains(t, must.Fail(b.PutImage("match/1", i, path)), "by the test")
	s.set(nil)
	require.Equal(t, []string{marker}, s.keys(t))
	require.NoError(t, os.WriteFile(path, []byte("an"), 0o600))
	require.Error(t, must.Fail(b.PutImage("match/1", i, path)), "the file is not the image")
	require.Equal(t, []string{marker}, s.keys(t))

	put(t, b, "match/1", 1, 2, "an image")
	for says, answer := range map[string]func(http.ResponseWriter, *http.Request){
		"has 18 bytes, not the image's 8": func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "an image with more") },
		"unexpected EOF": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "8")
			_, _ = io.WriteString(w, "an im")
		},
		"deadline exceeded": func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Length", "8")
			_, _ = io.WriteString(w, "an im")
			_ = http.NewResponseController(w).Flush()
			<-r.Context().Done()
		},
	} {
		s.set(func(w http.ResponseWriter, r *http.Request) bool {
			w.Header().Set("Last-Modified", time.Unix(1, 0).UTC().Format(http.TimeFormat))
			answer(w, r)
			return true
		})
		bucket := b
		if says == "deadline exceeded" {
			bucket = impatient(b)
		}
		from, err := bucket.OpenImage("match/1", i)
		if err == nil {
			err = errors.Join(must.Fail(io.ReadAll(from)), from.Close())
		}
		require.ErrorContains(t, err, says)
	}
}

// impatient returns the bucket with so little patience that a test can wait for its end.
func impatient(b *Bucket) *Bucket {
	short := *b
	short.patience = 200 * time.Millisecond
	return &short
}

// errorOf drops the nodes.
func errorOf(_ []string, err error) error { return err }
