package admin

import (
	"net/http"

	"go.uber.org/zap"
)

// replayFiles are the paths of the page of a recording and their files.
var replayFiles = map[string]string{
	"/replay":    "live/replay.html",
	"/replay.js": "live/replay.js",
	"/live.css":  "live/live.css",
}

// ListenReplay binds an address on loopback for the page of a recording, with the admin port's checks of hosts and
// origins. routes answer the page's requests, below /recording/.
func ListenReplay(address string, routes http.Handler, log *zap.Logger) (*Port, error) {
	mux := http.NewServeMux()
	for path, file := range replayFiles {
		mux.HandleFunc("GET "+path, func(w http.ResponseWriter, r *http.Request) { serveFile(w, r, file, "'self'") })
	}
	mux.Handle("GET /{$}", http.RedirectHandler("/replay", http.StatusSeeOther))
	mux.Handle("/recording/", routes)
	guard := &guard{own: hostOf(address), log: log, audit: log, next: mux}
	guard.access.Store(&Access{})
	return guard.listen(Config{Listen: address, Log: log})
}
