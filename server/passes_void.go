package server

import (
	"bytes"
	"context"
	"slices"
	"time"
)

// A pass carries the Value of its issue. With Config.OneSessionPerUser it is void once its user begins another session, on the node that has issued
// it or on the one that has ordered it: otherwise a player could spend goods in that session, and have them again by the pass. The session begins only
// after that. Nodes do not know of sessions on a third one.

// voidPause is the time between two requests to void a pass.
const voidPause = 250 * time.Millisecond

// orderedPass is a pass of another node that a client of this node may have.
type orderedPass struct {
	question seatQuestion // that drops it
	until    time.Time    // after which it is void
	asking   bool
	retryAt  time.Time
}

// noteOrdered notes a pass that another node has filled.
func (p *passes) noteOrdered(q seatQuestion) {
	if q.User == "" || !p.rooms.process.OneSessionPerUser {
		return
	}
	q.Ask, q.Value = askDrop, nil
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	for user := range p.ordered {
		p.forgetVoid(user, now)
	}
	p.ordered[q.User] = append(p.ordered[q.User], &orderedPass{question: q, until: now.Add(passTime)})
}

// dropOrdered makes the pass of a question void, and reports whether it was noted.
func (p *passes) dropOrdered(q seatQuestion) (noted bool) {
	p.mu.Lock()
	i := slices.IndexFunc(p.ordered[q.User], func(o *orderedPass) bool { return bytes.Equal(o.question.Pass, q.Pass) })
	if i < 0 {
		p.mu.Unlock()
		return false
	}
	o := p.ordered[q.User][i]
	asks := !o.asking // else voidAll does
	o.asking = true
	p.mu.Unlock()
	if asks {
		p.void(o)
	}
	return true
}

// forgetVoid forgets the passes of a user that are void by now. Callers hold p.mu.
func (p *passes) forgetVoid(user string, now time.Time) {
	p.ordered[user] = slices.DeleteFunc(p.ordered[user], func(o *orderedPass) bool { return !now.Before(o.until) })
	if len(p.ordered[user]) == 0 {
		delete(p.ordered, user)
	}
}

// voidAll implements session.RouterConfig.VoidPasses.
func (p *passes) voidAll(user string) (done bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for name, x := range p.issued {
		if x.filled && x.user == user {
			x.place.Release()
			delete(p.issued, name)
		}
	}
	now := time.Now()
	p.forgetVoid(user, now)
	for _, o := range p.ordered[user] {
		if !o.asking && !now.Before(o.retryAt) {
			o.asking = true
			p.rooms.hosting.Go(func() { p.void(o) })
		}
	}
	return len(p.ordered[user]) == 0
}

// void asks the other node to drop a pass. A node that no longer has the room admits nobody by it.
func (p *passes) void(o *orderedPass) {
	cluster := p.rooms.process.Cluster
	ctx, cancel := context.WithTimeout(context.Background(), abandonTimeout)
	defer cancel()
	_, _, err := p.rooms.ask(ctx, o.question)
	gone := cluster.FindRoom(o.question.Room) == "" && !cluster.IsSilent(o.question.Room)
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	o.asking, o.retryAt = false, now.Add(voidPause)
	if err == nil || gone {
		o.until = now
	}
}
