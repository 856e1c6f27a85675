//! Which account does a peer over HTTP have, and what is charged only to such peers?

use std::net::IpAddr;
use std::sync::Arc;

use crate::ground::budget::{Account, Charge, Exhausted, Identity, Ledger, Shares};
use crate::ground::peer_map::PeerName;

const ALL_SHARES: Shares = Shares { counted: true, bytes: true };

impl Ledger {
    /// Returns the account of a named peer.
    pub(crate) fn account_of(self: &Arc<Self>, name: PeerName) -> Arc<Account> {
        self.peers.get_or_insert(name, |name| {
            Account::new(self, ALL_SHARES, Identity { is_named: true, address: name.address() })
        })
    }

    /// Creates the account of a peer that is recognized by its session.
    pub(crate) fn unnamed_account(self: &Arc<Self>) -> Arc<Account> {
        Account::new(self, ALL_SHARES, Identity::default())
    }
}

impl Account {
    /// Returns the address, if the peer is recognized by it.
    pub(crate) fn address(&self) -> Option<IpAddr> {
        self.identity.address
    }
}

impl Charge {
    /// Returns the amount.
    pub(crate) fn amount(&self) -> usize {
        self.amount
    }

    /// Changes the amount for one item that is still growing. If it cannot grow, it stays as it is.
    pub(crate) fn resize_item(&mut self, amount: usize) -> Result<(), Exhausted> {
        self.change(amount, self.amount)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ground::budget::{Budget, Budgets, Resource};

    fn ledger() -> Arc<Ledger> {
        let budget = Budget { total: 100, share: 40 };
        Ledger::new(Budgets { requests: budget, bodies: budget, replies: budget, kept: budget })
    }

    fn peer(ledger: &Arc<Ledger>, last: u8) -> Arc<Account> {
        ledger.account_of(PeerName::at([192, 0, 2, last].into()))
    }

    #[test]
    fn a_peer_uses_its_share_and_all_peers_the_total() {
        let ledger = ledger();
        let peers: Vec<_> = (1..=4).map(|last| peer(&ledger, last)).collect();
        let mut charges: Vec<_> =
            peers[..2].iter().map(|peer| peer.charge(Resource::Bodies, 40).unwrap()).collect();
        assert_eq!(peers[0].charge(Resource::Bodies, 1).unwrap_err(), Exhausted::Share);
        charges.push(peers[2].charge(Resource::Bodies, 20).unwrap());
        assert_eq!(peers[3].charge(Resource::Bodies, 1).unwrap_err(), Exhausted::Total);
        // Another resource has its own budget.
        assert!(peers[0].charge(Resource::Replies, 40).is_ok());
        assert_eq!((ledger.used(Resource::Bodies), ledger.refused(Resource::Bodies)), (100, 2));
        drop(charges);
        assert_eq!((ledger.used(Resource::Bodies), ledger.used(Resource::Replies)), (0, 0));
    }

    #[test]
    fn a_large_item_is_accepted_alone_at_once_or_in_pieces() {
        let ledger = ledger();
        let peer = peer(&ledger, 1);
        let mut growing = peer.charge(Resource::Bodies, 10).unwrap();
        growing.resize_item(1000).unwrap();
        assert_eq!(peer.charge(Resource::Bodies, 1).unwrap_err(), Exhausted::Share);
        drop(growing);
        let first = peer.charge(Resource::Bodies, 10).unwrap();
        let mut second = peer.charge(Resource::Bodies, 10).unwrap();
        assert_eq!(second.resize_item(1000).unwrap_err(), Exhausted::Share);
        drop(first);
        // Several items together are no single item.
        assert_eq!(second.resize(1000).unwrap_err(), Exhausted::Share);
        second.resize_item(1000).unwrap();
        // What is counted is never more than the limit.
        let requests: Vec<_> = (0..41).map(|_| peer.charge(Resource::Requests, 1)).collect();
        assert_eq!(requests.iter().filter(|request| request.is_ok()).count(), 40);
    }

    #[test]
    fn a_peer_is_the_same_in_every_notation_and_forgotten_when_it_uses_nothing() {
        let ledger = ledger();
        let name = |text: &str| PeerName::at(text.parse().unwrap());
        assert_eq!(name("192.0.2.1"), name("::ffff:192.0.2.1"));
        assert_eq!(name("2001:db8::1"), name("2001:db8::ffff:1:2:3"));
        assert_ne!(name("2001:db8::1"), name("2001:db8:0:1::1"));
        let charge = ledger.account_of(name("2001:db8::1")).charge(Resource::Replies, 40).unwrap();
        assert!(ledger.account_of(name("2001:db8::2")).charge(Resource::Replies, 1).is_err());
        drop(charge);
        for n in 0..10_000_u32 {
            ledger.account_of(PeerName::at(n.to_be_bytes().into()));
        }
        assert!(ledger.peers.len() < 100, "{:?} are kept", ledger.peers);
    }

    #[test]
    fn a_pipe_has_all_bytes_and_a_share_of_the_requests() {
        let ledger = ledger();
        let pipe = ledger.pipe_account();
        assert!(pipe.charge(Resource::Replies, 100).is_ok());
        let requests: Vec<_> = (0..41).map(|_| pipe.charge(Resource::Requests, 1)).collect();
        assert_eq!(requests.iter().filter(|request| request.is_ok()).count(), 40);
        let common = ledger.common_account();
        let requests: Vec<_> = (0..61).map(|_| common.charge(Resource::Requests, 1)).collect();
        assert_eq!(requests.iter().filter(|request| request.is_ok()).count(), 60);
    }
}
