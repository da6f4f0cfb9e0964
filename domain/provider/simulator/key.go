package simulator

import (
	"sync"

	bolt "go.etcd.io/bbolt"
)

// keys knows which idempotency keys have a call that isn't answered yet. Only in memory: a killed process runs nothing.
type keys struct {
	mu      sync.Mutex
	running map[string]bool
}

// claim reserves a key until release; ok is false while another call has it. Release may be called twice.
func (k *keys) claim(c call) (release func(), ok bool) {
	if c.key == "" {
		return func() {}, true
	}
	name := c.keyName()
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.running[name] {
		return nil, false
	}
	k.running[name] = true
	return sync.OnceFunc(func() {
		k.mu.Lock()
		defer k.mu.Unlock()
		delete(k.running, name)
	}), true
}

// keyRow is what a key stands for. Problem wins over ID: a sticky error hides the object that was booked.
type keyRow struct {
	Hash    string   `json:"hash"`
	ID      string   `json:"id,omitempty"`
	Problem *problem `json:"problem,omitempty"`
}

func (c call) keyName() string { return c.on + "\x00" + c.key }

func (c call) storedKey(tx *bolt.Tx) (row keyRow, known bool, err error) {
	if c.key == "" {
		return keyRow{}, false, nil
	}
	return get[keyRow](tx, bKeys, c.keyName())
}

func (c call) storeKey(tx *bolt.Tx, row keyRow) error {
	if c.key == "" {
		return nil
	}
	row.Hash = c.hash
	return put(tx, bKeys, c.keyName(), row)
}
