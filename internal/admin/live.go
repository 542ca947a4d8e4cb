package admin

import (
	"bytes"
	"embed"
	"fmt"
	"net/http"
	"time"
)

//go:generate go -C ../../client/ts/bundle run . -minify ../../internal/admin/live page/live.ts page/operator.ts page/replay.ts

// live holds the live page, the operator's page and the page of recordings. The scripts are built from client/ts/page.
//
//go:embed live
var live embed.FS

// liveFiles are the paths of the port's pages and their files. They are public: the data of the
// pages comes from a session and from requests that require credentials.
var liveFiles = map[string]string{
	"/live":        "live/index.html",
	"/live.css":    "live/live.css",
	"/live.js":     "live/live.js",
	"/operator":    "live/operator.html",
	"/operator.js": "live/operator.js",
}

// live serves a file of a page. The page may connect to this port and to the
// game's UDP port, and to nothing else.
func (p pages) live(w http.ResponseWriter, r *http.Request) {
	connect := "'self'"
	if host := hostOf(r.Host); host != "" && p.Quic.ServesWeb() {
		connect += fmt.Sprintf(" https://%s:%d", host, p.Quic.Addr().Port) // the guard has checked the host
	}
	serveFile(w, r, liveFiles[r.URL.Path], connect)
}

// serveFile serves a file of a page that may connect to the sources in connect alone.
func serveFile(w http.ResponseWriter, r *http.Request, name, connect string) {
	text, err := live.ReadFile(name)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	h := w.Header()
	h.Set("Content-Security-Policy", "default-src 'none'; script-src 'self'; style-src 'self'; worker-src blob:; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; connect-src "+connect)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cache-Control", "no-cache")
	http.ServeContent(w, r, name, time.Time{}, bytes.NewReader(text))
}
