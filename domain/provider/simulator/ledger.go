package simulator

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"
	bolt "go.etcd.io/bbolt"
)

// The buckets. The …By ones are indexes: value of the first half of the key, NUL, ID.
const (
	bPayments     = "payments"
	bPaymentsBy   = "payments_by_reference"
	bRefunds      = "refunds"
	bRefundsBy    = "refunds_by_reference"
	bRefundsOf    = "refunds_by_payment"
	bShipments    = "shipments"
	bShipmentsBy  = "shipments_by_reference"
	bMails        = "mails"
	bCalls        = "calls"
	bKeys         = "keys"
	bQueue        = "queue" // webhooks that are not delivered yet
	lockPatience  = 2 * time.Second
	batchDelay    = 2 * time.Millisecond // what a lone request waits for company before its fsync
	initialMapped = 64 << 20             // growing the memory map stops all readers
)

func buckets() []string {
	return []string{
		bPayments, bPaymentsBy, bRefunds, bRefundsBy, bRefundsOf, bShipments, bShipmentsBy, bMails, bCalls, bKeys, bQueue,
	}
}

func openLedger(file string, noSync bool) (*bolt.DB, error) {
	db, err := bolt.Open(file, 0o600, &bolt.Options{
		Timeout: lockPatience, NoFreelistSync: true, FreelistType: bolt.FreelistMapType, InitialMmapSize: initialMapped, NoSync: noSync,
	})
	if err != nil {
		return nil, fmt.Errorf("open ledger %s: %w", file, err)
	}
	db.MaxBatchDelay = batchDelay
	if err := db.Update(makeBuckets); err != nil {
		return nil, fmt.Errorf("prepare ledger: %w", err)
	}
	return db, nil
}

func makeBuckets(tx *bolt.Tx) error {
	for _, name := range buckets() {
		if _, err := tx.CreateBucketIfNotExists([]byte(name)); err != nil {
			return fmt.Errorf("make bucket %s: %w", name, err)
		}
	}
	return nil
}

func dropBuckets(tx *bolt.Tx) error {
	for _, name := range buckets() {
		if err := tx.DeleteBucket([]byte(name)); err != nil {
			return fmt.Errorf("drop bucket %s: %w", name, err)
		}
	}
	return nil
}

// newID makes an ID whose order is the order of making.
func newID(prefix string) string {
	return prefix + strings.ReplaceAll(uuid.Must(uuid.NewV7()).String(), "-", "")
}

func put(tx *bolt.Tx, bucket, key string, row any) error {
	data, err := json.Marshal(row)
	if err != nil {
		return fmt.Errorf("write %s row: %w", bucket, err)
	}
	if err := tx.Bucket([]byte(bucket)).Put([]byte(key), data); err != nil {
		return fmt.Errorf("put %s row: %w", bucket, err)
	}
	return nil
}

func get[T any](tx *bolt.Tx, bucket, key string) (row T, found bool, err error) {
	data := tx.Bucket([]byte(bucket)).Get([]byte(key))
	if data == nil {
		return row, false, nil
	}
	if err := json.Unmarshal(data, &row); err != nil {
		return row, false, fmt.Errorf("read %s row: %w", bucket, err)
	}
	return row, true, nil
}

func all[T any](tx *bolt.Tx, bucket string) ([]T, error) {
	rows := []T{}
	err := tx.Bucket([]byte(bucket)).ForEach(func(_, data []byte) error {
		var row T
		if err := json.Unmarshal(data, &row); err != nil {
			return fmt.Errorf("read %s row: %w", bucket, err)
		}
		rows = append(rows, row)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("list %s: %w", bucket, err)
	}
	return rows, nil
}

func index(tx *bolt.Tx, bucket, value, id string) error {
	if err := tx.Bucket([]byte(bucket)).Put([]byte(value+"\x00"+id), []byte{}); err != nil {
		return fmt.Errorf("index %s: %w", bucket, err)
	}
	return nil
}

// indexed loads the rows that an index lists under a value, oldest first.
func indexed[T any](tx *bolt.Tx, by, bucket, value string) ([]T, error) {
	rows := []T{}
	prefix := value + "\x00"
	cursor := tx.Bucket([]byte(by)).Cursor()
	for k, _ := cursor.Seek([]byte(prefix)); k != nil && strings.HasPrefix(string(k), prefix); k, _ = cursor.Next() {
		row, found, err := get[T](tx, bucket, string(k[len(prefix):]))
		if err != nil {
			return nil, err
		}
		if found {
			rows = append(rows, row)
		}
	}
	return rows, nil
}

// add appends a row under the bucket's next number and returns the number.
func add(tx *bolt.Tx, bucket string, row any) (uint64, error) {
	number, err := tx.Bucket([]byte(bucket)).NextSequence()
	if err != nil {
		return 0, fmt.Errorf("number %s row: %w", bucket, err)
	}
	return number, put(tx, bucket, numbered(number), row)
}

func numbered(n uint64) string { return string(binary.BigEndian.AppendUint64(nil, n)) }
