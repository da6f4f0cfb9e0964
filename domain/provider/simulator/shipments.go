package simulator

import (
	"net/http"
	"strings"

	bolt "go.etcd.io/bbolt"

	"onefold/domain/provider"
)

type shipmentInput struct {
	Reference string           `json:"reference"`
	Address   provider.Address `json:"address"`
	Parcels   int              `json:"parcels"`
}

func (in shipmentInput) check() *problem {
	var b rules
	b.text(in.Reference, "reference", referenceLimit, true)
	b.text(in.Address.Name, "address.name", textLimit, true)
	b.text(in.Address.Line1, "address.line1", textLimit, true)
	b.text(in.Address.Line2, "address.line2", textLimit, false)
	b.text(in.Address.City, "address.city", textLimit, true)
	b.text(in.Address.Postcode, "address.postcode", textLimit, true)
	b.text(in.Address.Country, "address.country", textLimit, true)
	b.must(in.Parcels >= 1 && in.Parcels <= 100, "parcels", "range=1..100", "Give the number of parcels.")
	return b.problem()
}

func (s *Server) shipmentCreate(w http.ResponseWriter, r *http.Request) {
	var in shipmentInput
	c := call{on: "shipments.create", load: s.loadShipment}
	var p *problem
	if c.key, p = readKey(r, false); p == nil {
		c.hash, p = readBody(w, r, &in)
	}
	if p == nil {
		p = in.check()
	}
	if p != nil {
		s.turnAway(w, c, "invalid", p)
		return
	}
	c.references = []string{in.Reference}
	s.exchange(w, r, c, func(tx *bolt.Tx, _ fault) (reply, error) {
		row := shipment{
			ID: newID("shp_"), Status: created, Reference: in.Reference, Address: in.Address, Parcels: in.Parcels,
			CreatedAt: s.now().UTC(), Key: c.key,
		}
		row.Tracking = "TP" + strings.ToUpper(row.ID[len(row.ID)-10:])
		if err := index(tx, bShipmentsBy, row.Reference, row.ID); err != nil {
			return reply{}, err
		}
		return reply{
			status: http.StatusOK, body: showShipment(row), outcome: "booked", id: row.ID, booked: true,
		}, put(tx, bShipments, row.ID, row)
	})
}

func (s *Server) loadShipment(tx *bolt.Tx, id string) (any, error) {
	row, _, err := get[shipment](tx, bShipments, id)
	return showShipment(row), err
}

func (s *Server) shipmentGet(w http.ResponseWriter, r *http.Request) {
	id := r.PathValue("id")
	s.exchange(w, r, call{on: "shipments.get"}, func(tx *bolt.Tx, _ fault) (reply, error) {
		row, found, err := get[shipment](tx, bShipments, id)
		return lookup(showShipment(row), id, found), err
	})
}

func (s *Server) shipmentFind(w http.ResponseWriter, r *http.Request) {
	find(s, w, r, "shipments.get", bShipmentsBy, bShipments, showShipment)
}

// deliverShipment marks a parcel as handed over and tells so, once.
func (s *Server) deliverShipment(tx *bolt.Tx, id string) (row shipment, found bool, events []delivery, err error) {
	row, found, err = get[shipment](tx, bShipments, id)
	if err != nil || !found || row.Status == delivered {
		return row, found, nil, err
	}
	row.Status = delivered
	if err := put(tx, bShipments, id, row); err != nil {
		return row, true, nil, err
	}
	events, err = s.courier.emit(tx, "shipment.delivered", id, []string{row.Reference}, showShipment(row))
	return row, true, events, err
}
