package health

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"golang.org/x/sync/errgroup"

	"mailer/app"
	"mailer/app/kit/clock"
	"mailer/app/kit/mailbox"
	"mailer/app/rules/dnscheck"
	"mailer/app/rules/feedback"
	"mailer/db"
)

// Limits of the checks of the addresses that mail leaves from.
const (
	// MaxBlockLists is how many block lists can be named.
	MaxBlockLists = 10
	// maxSendingAddresses is how many addresses are checked, maxRangeAddresses how many of one range in an SPF mechanism.
	// Larger ranges are not checked: they belong to a provider.
	maxSendingAddresses = 32
	maxRangeAddresses   = 16
	// blockListsEvery is the time between two rounds, blockListsRetry that after a round in which a list failed.
	blockListsEvery = 24 * time.Hour
	blockListsRetry = time.Hour
	// listingsKept is how long the listings of a list count that does not answer any more.
	listingsKept = 3 * 24 * time.Hour
	// blockListsTime is the timeout of a round, and blockListWorkers how many lists are asked at the same time.
	blockListsTime   = 10 * time.Minute
	blockListWorkers = 4
	// maxListed is the maximum length of the text of a list about an address, in bytes.
	maxListed = 200
	// keyLabel is the length from which a label of a list's name is a key of its user.
	keyLabel = 20

	blockListsSetting = "block_lists"
)

// BlockListsEvery is how often the server looks whether CheckBlockLists has to ask.
const BlockListsEvery = 5 * time.Minute

// BlockLists are the answers of block lists to a round of questions.
type BlockLists struct {
	At        time.Time   `json:"at"`
	Addresses []string    `json:"addresses"`
	Lists     []BlockList `json:"lists"`
}

// BlockList is a block list, and what it answered.
type BlockList struct {
	Name     string    `json:"name"`
	Failure  string    `json:"failure,omitzero"` // why it did not answer all questions; empty: it did
	Listings []Listing `json:"listings"`
	Asked    []string  `json:"asked"` // addresses for which it answered
	// AnsweredAt is when the list last answered all questions; zero: never, or long ago.
	AnsweredAt time.Time `json:"answered_at,omitzero"`
}

// Listing is an address on a block list.
type Listing struct {
	Address string `json:"address"`
	Answer  string `json:"answer"` // the addresses that the list answered with, and its text
}

// ParseBlockLists parses the values of --block-lists.
func ParseBlockLists(names []string) (lists []string, err error) {
	for _, name := range names {
		list, err := mailbox.ParseDomain(strings.TrimSuffix(name, "."))
		if err != nil {
			return nil, fmt.Errorf("--block-lists must be host names of DNS block lists, separated by commas; %q is none", name)
		}
		if !slices.Contains(lists, list) {
			lists = append(lists, list)
		}
	}
	if len(lists) > MaxBlockLists {
		return nil, fmt.Errorf("--block-lists has %d lists, more than %d", len(lists), MaxBlockLists)
	}
	return lists, nil
}

// BlockListTitle returns the name of a block list without the key of its user, which is a long label.
func BlockListTitle(name string) string {
	labels := strings.Split(name, ".")
	for i, label := range labels {
		if len(label) >= keyLabel {
			labels[i] = "…"
		}
	}
	return strings.Join(labels, ".")
}

// sendingAddresses returns the addresses that mail leaves from, as far as they are known: those of the SPF mechanisms ip4
// and ip6 of relays, sorted.
func (s *Service) sendingAddresses() (addresses []netip.Addr) {
	for _, region := range s.Settings.Relays().Regions {
		for _, term := range region.Needs.SPFTerms() {
			addresses = append(addresses, addressesOfTerm(term)...)
		}
	}
	slices.SortFunc(addresses, netip.Addr.Compare)
	addresses = slices.Compact(addresses)
	return addresses[:min(len(addresses), maxSendingAddresses)]
}

// addressesOfTerm returns the addresses of an SPF mechanism ip4 or ip6; none for others and for large ranges.
func addressesOfTerm(term string) (addresses []netip.Addr) {
	kind, value, _ := strings.Cut(term, ":")
	if kind != "ip4" && kind != "ip6" {
		return nil
	}
	if addr, err := netip.ParseAddr(value); err == nil {
		return []netip.Addr{addr}
	}
	p, err := netip.ParsePrefix(value)
	if err != nil || p.Addr().BitLen()-p.Bits() > 4 {
		return nil
	}
	p = p.Masked()
	for addr := p.Addr(); p.Contains(addr) && len(addresses) < maxRangeAddresses; addr = addr.Next() {
		addresses = append(addresses, addr)
	}
	return addresses
}

// BlockLists returns the answers of the last round; zero: there was none.
func (s *Service) BlockLists(ctx context.Context) (out BlockLists, err error) {
	value, err := s.setting(ctx, blockListsSetting)
	if err != nil || value == nil {
		return out, err
	}
	if json.Unmarshal(value, &out) != nil { // stored by another version
		return BlockLists{}, nil
	}
	return out, nil
}

// CheckBlockLists asks the block lists of the settings about the addresses that mail leaves from, unless it did so within
// the last day.
func (s *Service) CheckBlockLists(ctx context.Context) error {
	lists, addresses := s.Settings.BlockLists, s.sendingAddresses()
	if len(lists) == 0 || len(addresses) == 0 || s.domains.Resolver == nil {
		return nil
	}
	last, err := s.BlockLists(ctx)
	if err != nil {
		return fmt.Errorf("read the answers of block lists: %w", err)
	}
	if !last.due(lists, addresses) {
		return nil
	}
	round, cancel := context.WithTimeout(ctx, blockListsTime)
	defer cancel()
	next := BlockLists{Addresses: texts(addresses), Lists: make([]BlockList, len(lists))}
	var g errgroup.Group
	g.SetLimit(blockListWorkers)
	for i, name := range lists {
		g.Go(func() error {
			next.Lists[i] = s.askBlockList(round, name, addresses, last.list(name))
			return nil
		})
	}
	_ = g.Wait() // a failure belongs to its list
	if ctx.Err() != nil {
		return ctx.Err()
	}
	next.At = clock.Now()
	value, err := json.Marshal(next)
	if err != nil {
		return fmt.Errorf("encode the answers of block lists: %w", err)
	}
	if err := s.DB.Write(ctx, func(tx *db.Tx) error { return tx.SetSetting(blockListsSetting, value) }); err != nil {
		return fmt.Errorf("store the answers of block lists: %w", err)
	}
	return nil
}

func texts(addresses []netip.Addr) (out []string) {
	for _, a := range addresses {
		out = append(out, a.String())
	}
	return out
}

// due reports whether the lists have to be asked.
func (b *BlockLists) due(lists []string, addresses []netip.Addr) bool {
	after := blockListsEvery
	for _, name := range lists {
		list := b.list(name)
		if list == nil {
			return true
		}
		if list.Failure != "" {
			after = blockListsRetry
		}
	}
	return !slices.Equal(b.Addresses, texts(addresses)) || clock.Since(b.At) >= after
}

// list returns what a list answered; nil: it was not asked.
func (b *BlockLists) list(name string) *BlockList {
	if i := slices.IndexFunc(b.Lists, func(l BlockList) bool { return l.Name == name }); i >= 0 {
		return &b.Lists[i]
	}
	return nil
}

// Entries that each list of IPv4 addresses must and must not have (RFC 5782 5).
var (
	testListed   = netip.MustParseAddr("127.0.0.2")
	testUnlisted = netip.MustParseAddr("127.0.0.1")
)

// askBlockList asks one list about all addresses, up to the first question that it does not answer. What it said before
// about the other addresses is kept for listingsKept. last is nil if it was not asked before.
func (s *Service) askBlockList(ctx context.Context, name string, addresses []netip.Addr, last *BlockList) BlockList {
	list := BlockList{Name: name}
	err := s.testBlockList(ctx, name)
	for _, addr := range addresses {
		answer := ""
		if err == nil {
			answer, err = s.lookUpListing(ctx, name, addr)
		}
		if err != nil {
			list.keep(last, addr.String())
			continue
		}
		list.Asked = append(list.Asked, addr.String())
		if answer != "" {
			list.Listings = append(list.Listings, Listing{addr.String(), answer})
		}
	}
	if err != nil {
		list.Failure = err.Error()
		return list
	}
	list.AnsweredAt = clock.Now()
	return list
}

// keep copies what the list said about an address before.
func (b *BlockList) keep(last *BlockList, address string) {
	if last == nil || clock.Since(last.AnsweredAt) >= listingsKept {
		return
	}
	b.AnsweredAt = last.AnsweredAt
	if slices.Contains(last.Asked, address) {
		b.Asked = append(b.Asked, address)
	}
	for _, l := range last.Listings {
		if l.Address == address {
			b.Listings = append(b.Listings, l)
		}
	}
}

// testBlockList checks that a list works: a list that was closed may contain no address, or every one.
func (s *Service) testBlockList(ctx context.Context, list string) error {
	listed, err := s.lookUpListing(ctx, list, testListed)
	if err != nil {
		return err
	}
	unlisted, err := s.lookUpListing(ctx, list, testUnlisted)
	switch {
	case err != nil:
		return err
	case listed == "":
		return fmt.Errorf("it does not list %s, as each block list does", testListed)
	case unlisted != "":
		return errors.New("it lists every address")
	}
	return nil
}

var (
	// listedRange are the answers of block lists, refusedRange those that mean that the question was refused.
	listedRange  = netip.MustParsePrefix("127.0.0.0/8")
	refusedRange = netip.MustParsePrefix("127.255.255.0/24")
)

// lookUpListing asks a list about an address. answer is what the list says; empty: it does not list the address. Error: the
// list did not answer, or refused the question.
func (s *Service) lookUpListing(ctx context.Context, list string, addr netip.Addr) (answer string, err error) {
	name, err := dnscheck.BlockListName(addr, list)
	if err != nil {
		return "", err
	}
	found, err := s.domains.Resolver(ctx, name, app.DNSA)
	if err != nil {
		// The error names the list, and the name of a list may contain a key.
		return "", errors.New(strings.ReplaceAll(err.Error(), list, BlockListTitle(list)))
	}
	var codes []string
	for _, v := range found.Records {
		code, err := netip.ParseAddr(v.Text)
		switch {
		case err != nil || !listedRange.Contains(code):
			return "", fmt.Errorf("it answered %s, which is no answer of a block list", v.Text)
		case refusedRange.Contains(code):
			return "", fmt.Errorf("it refused the question (%s)", v.Text)
		}
		codes = append(codes, v.Text)
	}
	if len(codes) == 0 {
		return "", nil
	}
	slices.Sort(codes)
	answer = strings.Join(codes[:min(len(codes), maxRangeAddresses)], ", ")
	reason, err := s.domains.Resolver(ctx, name, app.DNSText)
	if err != nil {
		s.Log.Debug("look up why an address is on a block list", "list", BlockListTitle(list), "address", addr, "err", err)
	} else if len(reason.Records) > 0 {
		answer += ": " + reason.Records[0].Text
	}
	return feedback.PrintableLine(answer, maxListed), nil
}

// knownBlockLists checks the addresses that mail leaves from by the last answers of block lists.
func (s *Service) knownBlockLists(ctx context.Context) (checks []Check, err error) {
	const name = "block lists"
	lists, addresses := s.Settings.BlockLists, texts(s.sendingAddresses())
	switch {
	case len(lists) == 0:
		return []Check{good(name, "not configured (--block-lists)")}, nil
	case len(addresses) == 0:
		return []Check{good(name, "no address is known that mail leaves from: name it with spf=ip4:… in the URL of the relay")}, nil
	}
	last, err := s.BlockLists(ctx)
	if err != nil {
		return nil, err
	}
	if last.At.IsZero() {
		return []Check{good(name, "not asked yet")}, nil
	}
	var titles []string
	for _, list := range lists {
		titles = append(titles, BlockListTitle(list))
		if l := last.list(list); l != nil && l.Failure != "" {
			checks = append(checks, bad("block list "+BlockListTitle(list), "block_list_silent", BlockListTitle(list), "list", BlockListTitle(list), "error", l.Failure))
		}
	}
	for _, addr := range addresses {
		if on := last.listings(lists, addr); on != "" {
			checks = append(checks, bad("block lists, "+addr, "block_listed", addr, "address", addr, "lists", on))
		}
	}
	if len(checks) == 0 {
		checks = append(checks, good(name, "%s: not on %s; asked at %s", strings.Join(addresses, ", "), strings.Join(titles, ", "), app.FormatTime(last.At)))
	}
	return checks, nil
}

// listings describes the listings of an address on some of the lists; empty: there are none.
func (b *BlockLists) listings(lists []string, address string) string {
	var on []string
	for _, name := range lists {
		list := b.list(name)
		if list == nil {
			continue
		}
		for _, l := range list.Listings {
			if l.Address == address {
				on = append(on, BlockListTitle(name)+" ("+l.Answer+")")
			}
		}
	}
	return strings.Join(on, ", ")
}

// EachListing calls fn for each list and address of the settings about which the list answered, for metrics.
func (s *Service) EachListing(ctx context.Context, fn func(list, address string, listed bool)) error {
	if len(s.Settings.BlockLists) == 0 {
		return nil
	}
	last, err := s.BlockLists(ctx)
	if err != nil {
		return err
	}
	for _, name := range s.Settings.BlockLists {
		list := last.list(name)
		if list == nil {
			continue
		}
		for _, addr := range texts(s.sendingAddresses()) {
			if slices.Contains(list.Asked, addr) {
				fn(BlockListTitle(name), addr, slices.ContainsFunc(list.Listings, func(l Listing) bool { return l.Address == addr }))
			}
		}
	}
	return nil
}

// maxReverseChecks is how many reverse names are looked up at the same time.
const maxReverseChecks = 8

// checkReverseNames checks that each address that mail leaves from has a reverse name that leads back to the address. Many
// receivers refuse mail of other addresses.
func (s *Service) checkReverseNames(ctx context.Context) ([]Check, error) {
	addresses := s.sendingAddresses()
	if s.domains.Resolver == nil {
		return nil, nil
	}
	checks := make([]Check, len(addresses))
	var g errgroup.Group
	g.SetLimit(maxReverseChecks)
	for i, addr := range addresses {
		g.Go(func() error {
			checks[i] = s.checkReverseName(ctx, addr)
			return nil
		})
	}
	_ = g.Wait() // an error is a failed check
	return checks, ctx.Err()
}

func (s *Service) checkReverseName(ctx context.Context, addr netip.Addr) Check {
	name := "reverse name of " + addr.String()
	found, confirmed, err := dnscheck.ReverseName(ctx, s.domains.Resolver, addr)
	switch {
	case err != nil:
		return bad(name, "check_failed", addr.String(), "check", name, "error", err.Error())
	case found == "":
		return bad(name, "reverse_name", addr.String(), "address", addr.String(), "error", "it has none")
	case !confirmed:
		return bad(name, "reverse_name", addr.String(), "address", addr.String(), "error", feedback.PrintableLine(found, app.MaxDomain)+" does not lead back to the address")
	}
	return good(name, "%s", feedback.PrintableLine(found, app.MaxDomain))
}
