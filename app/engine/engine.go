// Package engine holds the use cases of Mailer, one file a resource, and the
// workers that carry mail from the database to the relays.
//
// Failure policy: what was answered with success is in the database; a worker
// that fails leaves its unit there to be tried again. An *app.Error is for the
// caller; any other error is a fault of ours that web logs and hides.
package engine

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/robfig/cron/v3"
	"golang.org/x/sync/semaphore"

	"mailer/app"
	"mailer/app/relays"
	"mailer/db"
)

// Sender carries out one SMTP transaction. Just before the final dot it calls
// hold with the DKIM-Signature field used (empty: unsigned); an error from hold
// means that the dot must not be sent, and gives ResultWithdrawn. hold is
// called at most once, and not at all when the transaction ends earlier. Send
// is safe for concurrent use and blocks while all connections are busy. When
// ctx ends before the dot, the transaction is dropped with ResultTrouble.
type Sender interface {
	Send(ctx context.Context, m *app.Outgoing, hold func(ctx context.Context, signature string) error) app.Result
	// Close says QUIT on idle connections and drops the others: a Send that waits
	// for the reply to its dot ends with ResultDoubt. It may be called again.
	Close()
}

// Route is a relay and the Sender that speaks to it.
type Route struct {
	Relay  relays.Relay
	Sender Sender
}

// Config is what an Engine is made of.
type Config struct {
	DB     *db.DB
	Sealer *app.Sealer
	Log    *slog.Logger
	// Routes: the first is the default region. None: no mail leaves and Start
	// must not be called (the command line beside a server).
	Routes []Route
	// Capture: the one route is the capture transport, so a from-domain need not
	// be verified.
	Capture        bool
	Cloud          bool          // plans apply (a command beside a server: as the server said)
	MaxAttachments int64         // bytes; 0: app.DefaultMaxAttachmentBytes; in cloud mode plans say it
	DoubtDelay     time.Duration // 0: 60 s
	// Enforce: a team or region over the line of a guardrail is held back; else that is
	// only shown and told.
	Enforce   bool
	BulkShare float64 // part of a relay's daily limit that broadcasts may use; 0: app.DefaultBulkShare
	Jitter    func() float64
	Load      *app.Load // told of each caller that waits; nil: nobody asks
	Builders  int       // messages that the senders of Routes compose and sign at once; 0: app.Builders
	// Resolver asks the DNS about domains; nil: domains are not checked.
	Resolver app.DNSLookup
	// BaseURL is where hosted pages are reached, like "https://mail.example.com";
	// New takes slashes off its end. Empty (the command line beside a server):
	// where the server said.
	BaseURL string
	// BounceHost is the host name under which a listener for bounces is reached.
	// Empty (also for the command line beside a server): there is none.
	BounceHost string
	// Hooks carries requests to webhooks: the policy on addresses is its own, it
	// follows no redirects, and its errors are shown to the webhook's owner. nil:
	// events wait.
	Hooks http.RoundTripper
	// WebhookAllow are the ranges in which endpoints may be private and plain http.
	WebhookAllow []netip.Prefix
}

// Engine is the whole service behind its doors.
type Engine struct {
	cfg       Config
	db        *db.DB
	log       *slog.Logger
	server    server
	keys      keyCache
	dkim      dkimCache
	paths     returnPathHosts
	teamPlans teamPlans
	inflight  inflight
	fresh     freshMail
	eraser    *eraser
	onPlan    func() // the plan of a team changed
	outlet    Outlet
	// carryErasure carries out an erasure that was begun, as eraseContacts promises.
	carryErasure  func(ctx context.Context, teamID string, job erasure) error
	erasuresBegun atomic.Uint64 // of this process
	tracker       *tracker
	checks        *checker
	scans         *semaphore.Weighted // the connections of long scans
	counts        segmentCounts
	renders       renders
	lanes         []*lane
	imports       importer
	mails         broadcastMails
	broadcaster   *broadcaster
	hooks         *hooks
	listeners     subscriptions
	guards        guards
	clock         *clock
	swept         swept
	cron          *cron.Cron
	pacing        sync.Mutex // held while cron is stopped or started again
	draining      atomic.Bool
	taking        context.Context // ends when no new unit may be begun
	stop          context.CancelFunc
	sending       context.Context // ends when running transactions must be dropped
	abort         context.CancelFunc
	workers       sync.WaitGroup
}

// New makes an Engine and proves that the sealer fits the database. Error:
// app.ErrSeal for another master key.
func New(ctx context.Context, cfg Config) (*Engine, error) {
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	if cfg.MaxAttachments == 0 {
		cfg.MaxAttachments = app.DefaultMaxAttachmentBytes
	}
	if cfg.Builders == 0 {
		cfg.Builders = app.Builders()
	}
	if cfg.DoubtDelay == 0 {
		cfg.DoubtDelay = time.Minute
	}
	if cfg.Jitter == nil {
		cfg.Jitter = rand.Float64
	}
	cfg.BaseURL = strings.TrimRight(cfg.BaseURL, "/")
	e := &Engine{cfg: cfg, db: cfg.DB, log: cfg.Log, scans: semaphore.NewWeighted(maxScans),
		imports: importer{woken: make(chan struct{}, 1)}, eraser: newEraser(), tracker: newTracker(), broadcaster: newBroadcaster(), checks: newChecker(), clock: newClock(),
		renders: make(renders, largeRenders)}
	e.hooks = newHooks(e)
	e.onPlan, e.outlet, e.carryErasure = e.wakeLanes, e, e.finishErasure
	e.taking, e.stop = context.WithCancel(context.Background())
	e.sending, e.abort = context.WithCancel(context.Background())
	if err := e.checkMasterKey(ctx); err != nil {
		return nil, err
	}
	if err := e.loadServer(ctx, serverOf(&e.cfg)); err != nil {
		return nil, err
	}
	if err := e.listeners.load(ctx, e.db); err != nil {
		return nil, err
	}
	for _, route := range cfg.Routes {
		e.lanes = append(e.lanes, newLane(e, route))
	}
	return e, nil
}

const masterKeyCheck = "master_key_check"

// checkMasterKey leaves a sealed word in a fresh database and opens it in every
// later start: a wrong key file must not show only at the first signature.
func (e *Engine) checkMasterKey(ctx context.Context) error {
	return e.db.WriteVital(ctx, func(tx *db.Tx) error { // a server starts on a full disk too
		sealed, err := tx.Setting(masterKeyCheck)
		if errors.Is(err, db.ErrNotFound) {
			return tx.SetSetting(masterKeyCheck, e.cfg.Sealer.Seal("check", "", []byte("ok")))
		}
		if err != nil {
			return fmt.Errorf("check master key: %w", err)
		}
		_, err = e.cfg.Sealer.Open("check", "", sealed)
		return err
	})
}

// Start settles what an earlier process left in doubt and sets the workers to
// work.
func (e *Engine) Start(ctx context.Context) error {
	if err := e.unlessFull(e.rememberServer(ctx)); err != nil {
		return err
	}
	if err := e.resumeClock(ctx); err != nil {
		return err
	}
	if err := e.recoverDoubts(ctx); err != nil {
		return err
	}
	if err := e.startEraser(ctx); err != nil {
		return err
	}
	if err := e.startGuards(ctx); err != nil {
		return err
	}
	for _, l := range e.lanes {
		if err := l.start(ctx); err != nil {
			return err
		}
	}
	if err := e.startImports(ctx); err != nil {
		return err
	}
	if len(e.lanes) > 0 {
		e.workers.Go(e.watchStore)
	}
	e.workers.Go(e.track)
	e.workers.Go(e.broadcast)
	e.hooks.start()
	return e.startCron()
}

// unlessFull lets the refusal of a full disk pass: a server that does not start there
// takes no results, cancels and opt-outs either. What was to be written is written
// later, or is of no great use.
func (e *Engine) unlessFull(err error) error {
	if !errors.Is(err, db.ErrFull) {
		return err
	}
	e.log.Warn("not done at the start, since the disk is full", "err", err)
	return nil
}

// Stop lets running transactions end until ctx does, then drops those that have
// not sent their dot, and waits for all workers.
func (e *Engine) Stop(ctx context.Context) {
	e.draining.Store(true)
	if e.cron != nil {
		e.stopCron()
	}
	e.stop()
	done := make(chan struct{})
	go func() {
		e.workers.Wait()
		close(done)
	}()
	select {
	case <-done:
	case <-ctx.Done():
		e.abort()
		e.closeSenders() // a relay may let us wait for minutes for the reply to a dot
		<-done
	}
	e.abort()
	e.closeSenders()
	if err := e.flushKeys(context.WithoutCancel(ctx)); err != nil {
		e.log.Warn("last use of keys not stored", "err", err)
	}
}

func (e *Engine) closeSenders() {
	for _, l := range e.lanes {
		l.sender.Close()
	}
}

// Relays names the relays in their order, without credentials.
func (e *Engine) Relays() []string {
	var names []string
	for _, l := range e.lanes {
		if !e.cfg.Capture {
			names = append(names, l.relay.String())
		}
	}
	return names
}

// Captures tells whether no mail leaves.
func (e *Engine) Captures() bool { return e.cfg.Capture }

// Drain has Ready answer no, so that no new work comes while the doors close.
func (e *Engine) Drain() { e.draining.Store(true) }

// Ready is nil while mail can be accepted, else an *app.Error of
// CodeServiceUnavailable that says why.
func (e *Engine) Ready() error {
	if e.draining.Load() {
		return app.Errorf(app.CodeServiceUnavailable, "The server is shutting down")
	}
	return unavailable(e.db.Err())
}

// unavailable words the store's refusals for callers; other errors pass.
func unavailable(err error) error {
	switch {
	case errors.Is(err, db.ErrFull):
		return &app.Error{Code: app.CodeServiceUnavailable, Message: "The disk of the server is full; nothing new is accepted until there is room", Err: err}
	case errors.Is(err, db.ErrFailed):
		return &app.Error{Code: app.CodeServiceUnavailable, Message: "The storage of the server failed", Err: err}
	case errors.Is(err, db.ErrClosed):
		return &app.Error{Code: app.CodeServiceUnavailable, Message: "The server is shutting down", Err: err}
	}
	return err
}

// lookup words a missing row as not_found of that kind, and the rest as
// unavailable does.
func lookup(kind string, err error) error {
	if errors.Is(err, db.ErrNotFound) {
		return app.NotFound(kind)
	}
	return unavailable(err)
}
