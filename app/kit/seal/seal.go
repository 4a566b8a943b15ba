// Package seal encrypts stored secrets and signs tokens with a list of master keys, of which the
// newest seals and signs. Its state is the keys and what is derived from them.
//
// Failure policy: data that can't be opened is ErrSeal for whatever reason. Damage is detected and
// never yields another text.
package seal

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"slices"
	"sync"
	"sync/atomic"
)

// MasterKeySize is the length of a master key and of the seed, in bytes.
const MasterKeySize = 32

// MacSize is the length of a MAC and of a hash, in bytes.
const MacSize = 16

// ErrSeal is returned for data that can't be opened: another master key, another purpose, or
// damage.
var ErrSeal = errors.New("sealed data can't be opened with this master key")

// ErrRetired is the ErrSeal of data that was sealed with a retired key.
var ErrRetired = fmt.Errorf("%w: its key is retired", ErrSeal)

// MasterKey is one of a server's master keys.
type MasterKey struct {
	Key []byte // of MasterKeySize bytes
	// Retired: the key only verifies tokens that never expire.
	Retired bool
}

// NewMasterKey returns a random master key or seed.
func NewMasterKey() []byte {
	key := make([]byte, MasterKeySize)
	_, _ = rand.Read(key) // never fails: crypto/rand aborts the program instead
	return key
}

// Fingerprint identifies a master key. Sealed data begins with it. It reveals nothing about the
// key.
type Fingerprint [4]byte

// String returns the fingerprint in hexadecimal.
func (f Fingerprint) String() string { return hex.EncodeToString(f[:]) }

// Fingerprint returns the fingerprint of the key.
func (k *MasterKey) Fingerprint() Fingerprint {
	return Fingerprint(derive(k.Key, "fingerprint"))
}

// SealedWith returns the fingerprint of the key that data is sealed with, or the zero value if the
// data is too short.
func SealedWith(sealed []byte) (f Fingerprint) {
	copy(f[:], sealed)
	return f
}

// Sealer encrypts secrets: AES-256-GCM under keys derived from a master key, one for each purpose
// (RFC 5869). The first master key that is not retired seals and signs; all keys that are not
// retired open and verify. Hashes, which must never change, depend on a seed instead. The keys may
// be changed during use.
type Sealer struct {
	keys atomic.Pointer[[]*sealingKey] // in order
	seed atomic.Pointer[keyedHashes]
	// Missing is called when data was sealed with an unknown key, to call SetKeys; nil: nothing is
	// called. Set it before the sealer is used.
	Missing func()
}

// sealingKey is a master key with the keys derived from it.
type sealingKey struct {
	MasterKey
	fingerprint Fingerprint
	macs        *keyedHashes
}

// keyedHashes holds the keyed hashes under one key by purpose. There are few purposes.
type keyedHashes struct {
	key []byte
	by  sync.Map // of *keyedHash
}

// keyedHash is HMAC-SHA256 under one key with a pool of prepared states: hashes are computed for
// each recipient and each tracked link.
type keyedHash struct{ ready sync.Pool }

func newKeyedHash(key []byte) *keyedHash {
	return &keyedHash{ready: sync.Pool{New: func() any { return hmac.New(sha256.New, key) }}}
}

// append appends the hash of message, cut to 16 bytes, to b.
func (k *keyedHash) append(b, message []byte) []byte {
	mac := k.ready.Get().(hash.Hash)
	mac.Reset()
	_, _ = mac.Write(message) // a hash never fails
	n := len(b)
	b = mac.Sum(b)[:n+MacSize]
	k.ready.Put(mac)
	return b
}

// append appends the hash of message for a purpose.
func (k *keyedHashes) append(b []byte, purpose string, message []byte) []byte {
	keyed, ok := k.by.Load(purpose)
	if !ok {
		keyed, _ = k.by.LoadOrStore(purpose, newKeyedHash(derive(k.key, purpose)))
	}
	return keyed.(*keyedHash).append(b, message)
}

// New returns a Sealer. The first key that is not retired seals.
func New(keys ...MasterKey) (*Sealer, error) {
	s := &Sealer{}
	return s, s.SetKeys(keys)
}

// SetKeys replaces the master keys. Errors: a key does not have MasterKeySize bytes or occurs
// twice, or all are retired; nothing is changed then.
func (s *Sealer) SetKeys(keys []MasterKey) error {
	var ready []*sealingKey
	for _, k := range keys {
		if len(k.Key) != MasterKeySize {
			return fmt.Errorf("master key must have %d bytes, has %d", MasterKeySize, len(k.Key))
		}
		added := &sealingKey{MasterKey: k, fingerprint: k.Fingerprint(), macs: &keyedHashes{key: k.Key}}
		if keyOf(ready, added.fingerprint) != nil {
			return fmt.Errorf("master key %s is there twice", added.fingerprint)
		}
		ready = append(ready, added)
	}
	if !slices.ContainsFunc(ready, func(k *sealingKey) bool { return !k.Retired }) {
		return errors.New("there is no master key that is not retired")
	}
	s.keys.Store(&ready)
	return nil
}

// Keys returns the master keys in order.
func (s *Sealer) Keys() (keys []MasterKey) {
	for _, k := range *s.keys.Load() {
		keys = append(keys, k.MasterKey)
	}
	return keys
}

// Newest returns the fingerprint of the key that seals.
func (s *Sealer) Newest() Fingerprint { return s.newest().fingerprint }

func (s *Sealer) newest() *sealingKey {
	keys := *s.keys.Load()
	return keys[slices.IndexFunc(keys, func(k *sealingKey) bool { return !k.Retired })]
}

func keyOf(keys []*sealingKey, f Fingerprint) *sealingKey {
	if at := slices.IndexFunc(keys, func(k *sealingKey) bool { return k.fingerprint == f }); at >= 0 {
		return keys[at]
	}
	return nil
}

// SetSeed sets the seed of Hash and AppendHash, which panic without it. It has MasterKeySize
// bytes.
func (s *Sealer) SetSeed(seed []byte) error {
	if len(seed) != MasterKeySize {
		return fmt.Errorf("seed must have %d bytes, has %d", MasterKeySize, len(seed))
	}
	if now := s.seed.Load(); now == nil || !bytes.Equal(now.key, seed) {
		s.seed.Store(&keyedHashes{key: seed})
	}
	return nil
}

// Hash returns the hash of message for a purpose, MacSize bytes, keyed with the seed. It never
// changes.
func (s *Sealer) Hash(purpose string, message []byte) []byte {
	return s.AppendHash(nil, "mac "+purpose, message)
}

// AppendHash appends the hash of message under the key that is derived from the seed for name to
// b.
func (s *Sealer) AppendHash(b []byte, name string, message []byte) []byte {
	return s.seed.Load().append(b, name, message)
}

func derive(master []byte, purpose string) []byte {
	key, err := hkdf.Key(sha256.New, master, nil, "mailer "+purpose, 32)
	if err != nil {
		panic(err) // only for a length that SHA-256 can't derive
	}
	return key
}

func (k *sealingKey) aead(purpose string) cipher.AEAD {
	block, err := aes.NewCipher(derive(k.Key, purpose))
	if err != nil {
		panic(err) // only for a wrong key length
	}
	aead, err := cipher.NewGCMWithRandomNonce(block)
	if err != nil {
		panic(err)
	}
	return aead
}

func (k *sealingKey) seal(purpose, context string, plain []byte) []byte {
	return k.aead(purpose).Seal(k.fingerprint[:len(k.fingerprint):len(k.fingerprint)], nil, plain, []byte(context))
}

func (k *sealingKey) open(purpose, context string, sealed []byte) ([]byte, error) {
	plain, err := k.aead(purpose).Open(nil, nil, sealed[len(k.fingerprint):], []byte(context))
	if err != nil {
		return nil, ErrSeal
	}
	return plain, nil
}

// Seal encrypts plain for a purpose and binds it to context, for instance an id. The result begins
// with the fingerprint of the key.
func (s *Sealer) Seal(purpose, context string, plain []byte) []byte {
	return s.newest().seal(purpose, context, plain)
}

// Open returns the plaintext of Seal. Errors: ErrSeal, also as ErrRetired.
func (s *Sealer) Open(purpose, context string, sealed []byte) ([]byte, error) {
	k := s.opener(sealed)
	if (k == nil || k.Retired) && s.Missing != nil {
		s.Missing()
		k = s.opener(sealed)
	}
	switch {
	case k == nil:
		return nil, ErrSeal
	case k.Retired:
		return nil, ErrRetired
	}
	return k.open(purpose, context, sealed)
}

// opener returns the key that data is sealed with; nil: unknown.
func (s *Sealer) opener(sealed []byte) *sealingKey {
	if len(sealed) < len(Fingerprint{}) {
		return nil
	}
	return keyOf(*s.keys.Load(), SealedWith(sealed))
}

// Reseal encrypts sealed data with the newest key. The old key may be retired: a process that read
// its keys before the retirement may have used it. Error: ErrSeal.
func (s *Sealer) Reseal(purpose, context string, sealed []byte) ([]byte, error) {
	k := s.opener(sealed)
	if k == nil {
		return nil, ErrSeal
	}
	plain, err := k.open(purpose, context, sealed)
	if err != nil {
		return nil, err
	}
	return s.Seal(purpose, context, plain), nil
}

// MAC returns the MAC of message for a purpose: HMAC-SHA256, cut to 16 bytes.
func (s *Sealer) MAC(purpose string, message []byte) []byte {
	return s.AppendMAC(nil, purpose, message)
}

// AppendMAC appends the MAC of message to b.
func (s *Sealer) AppendMAC(b []byte, purpose string, message []byte) []byte {
	return s.newest().macs.append(b, "mac "+purpose, message)
}

// VerifyMAC reports in constant time whether mac is the MAC of message under a key that is not
// retired.
func (s *Sealer) VerifyMAC(purpose string, message, mac []byte) bool {
	return s.verifyMAC(purpose, message, mac, false)
}

// VerifyMACAnyKey is VerifyMAC with retired keys too, for tokens that never expire.
func (s *Sealer) VerifyMACAnyKey(purpose string, message, mac []byte) bool {
	return s.verifyMAC(purpose, message, mac, true)
}

func (s *Sealer) verifyMAC(purpose string, message, mac []byte, retired bool) bool {
	var buffer [MacSize]byte
	for _, k := range *s.keys.Load() {
		if (retired || !k.Retired) && hmac.Equal(k.macs.append(buffer[:0], "mac "+purpose, message), mac) {
			return true
		}
	}
	return false
}
