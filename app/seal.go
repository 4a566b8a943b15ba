package app

import (
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
	"sync"
)

// MasterKeySize is the length of the master key in bytes.
const MasterKeySize = 32

// ErrSeal says that sealed data can't be opened: another master key, another
// purpose, or damage.
var ErrSeal = errors.New("sealed data can't be opened with this master key")

// Sealer keeps secrets at rest: AES-256-GCM under keys that are derived from
// the master key, one a purpose (RFC 5869).
type Sealer struct {
	master    []byte
	addresses *keyedHash // of AddressHash
	macs      sync.Map   // of MAC: *keyedHash by purpose, of which there are few
}

// keyedHash is HMAC-SHA256 under one key, made ready once: hashes are asked for
// with each recipient and each tracked link.
type keyedHash struct{ ready sync.Pool }

func newKeyedHash(key []byte) *keyedHash {
	return &keyedHash{ready: sync.Pool{New: func() any { return hmac.New(sha256.New, key) }}}
}

// append appends the hash of message to b, cut to 16 bytes.
func (k *keyedHash) append(b, message []byte) []byte {
	mac := k.ready.Get().(hash.Hash)
	mac.Reset()
	_, _ = mac.Write(message) // a hash never fails
	n := len(b)
	b = mac.Sum(b)[:n+MacSize]
	k.ready.Put(mac)
	return b
}

// NewSealer takes a master key of MasterKeySize bytes.
func NewSealer(master []byte) (*Sealer, error) {
	if len(master) != MasterKeySize {
		return nil, fmt.Errorf("master key must have %d bytes, has %d", MasterKeySize, len(master))
	}
	s := &Sealer{master: master}
	s.addresses = newKeyedHash(s.derive("addresses"))
	return s, nil
}

// AddressHash stands for an address of a team. It is keyed, so that nobody
// without the master key can try addresses against a database, and different
// for each team.
type AddressHash [16]byte

// AddressHash returns the hash of a folded address (FoldAddress).
func (s *Sealer) AddressHash(teamID, folded string) AddressHash {
	message := make([]byte, 0, 128)
	message = append(append(append(message, teamID...), 0), folded...)
	return AddressHash(s.addresses.append(message, message)[len(message):])
}

func (s *Sealer) derive(purpose string) []byte {
	key, err := hkdf.Key(sha256.New, s.master, nil, "mailer "+purpose, 32)
	if err != nil {
		panic(err) // only for a length beyond what SHA-256 can give
	}
	return key
}

func (s *Sealer) aead(purpose string) cipher.AEAD {
	block, err := aes.NewCipher(s.derive(purpose))
	if err != nil {
		panic(err) // only for a wrong key length
	}
	aead, err := cipher.NewGCMWithRandomNonce(block)
	if err != nil {
		panic(err)
	}
	return aead
}

// Seal encrypts plain for a purpose and binds it to context (an id, say).
func (s *Sealer) Seal(purpose, context string, plain []byte) []byte {
	return s.aead(purpose).Seal(nil, nil, plain, []byte(context))
}

// Open returns what Seal was given. Error: ErrSeal.
func (s *Sealer) Open(purpose, context string, sealed []byte) ([]byte, error) {
	plain, err := s.aead(purpose).Open(nil, nil, sealed, []byte(context))
	if err != nil {
		return nil, ErrSeal
	}
	return plain, nil
}

// MAC authenticates message for a purpose: HMAC-SHA256, cut to 16 bytes.
func (s *Sealer) MAC(purpose string, message []byte) []byte {
	return s.appendMAC(nil, purpose, message)
}

func (s *Sealer) appendMAC(b []byte, purpose string, message []byte) []byte {
	keyed, ok := s.macs.Load(purpose)
	if !ok {
		keyed, _ = s.macs.LoadOrStore(purpose, newKeyedHash(s.derive("mac "+purpose)))
	}
	return keyed.(*keyedHash).append(b, message)
}

// IngestSecret is the secret in the path that reports of a source come to: it
// proves them. It never changes while the master key stays.
func (s *Sealer) IngestSecret(source string) string {
	return hex.EncodeToString(s.MAC("ingest", []byte(source)))
}

// NewMasterKey makes a random master key.
func NewMasterKey() []byte {
	key := make([]byte, MasterKeySize)
	_, _ = rand.Read(key) // never fails: crypto/rand aborts the program instead
	return key
}

// VerifyMAC tells in constant time whether mac is the MAC of message.
func (s *Sealer) VerifyMAC(purpose string, message, mac []byte) bool {
	return hmac.Equal(s.MAC(purpose, message), mac)
}
