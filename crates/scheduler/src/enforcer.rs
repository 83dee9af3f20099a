//! The policy enforcer: whose work order is next.
//!
//! A policy gives each query a tier and a weight. Here this becomes a choice, order by order. Quickstep (PVLDB 2018)
//! gives each query a probability and draws; the learning agent corrects the probabilities by what orders take, since
//! equal numbers of orders are not equal times. Ours are the same probabilities, drawn so that they are kept not on average
//! but at every moment (start-time fair queueing: Goyal, Vin and Cheng 1996): dice over the 2,800 orders that four
//! queries each get in two seconds would miss a share by more than 5 % now and then.
//!
//! Time is charged to *accounts* (a session's, as a rule), so that ten queries of one client have no more than one query of
//! another. An account in a tier has a virtual time, the CPU time it got divided by its weight:
//!
//! ```text
//!  virtual = (charged to its queries: planning and work orders done) / weight
//!  key     = virtual + (orders of it that run) x (what the learning agent says one takes) / weight
//!  next    = of the highest tier that has something claimable: the account with the smallest key;
//!            in it, the query that has been charged least
//! ```
//!
//! Three bounds keep virtual times together. *clock* is the largest that was served in its tier.
//!
//! * An account whose queries had nothing to claim for a while makes up for it, but for no more than [`LAG_MAX`]: it must not
//!   take the machine from others for seconds.
//! * One that comes back from having no query at all gets at most [`CREDIT`]. A short query now and then therefore runs as
//!   if it were alone, and one that loops shares equally.
//! * A query that could run and has not been served for [`STARVED_AFTER`], most of all one of a lower tier, gets one order, so
//!   that what it holds (a snapshot, memory) is given back some time.
//!
//! A worker that is another query's caller may not serve every query (`roster.rs`). Such a query is *barred* for it. When a
//! barred query's turn is clearly before that of what the worker may serve (a higher tier, or an account that is more than
//! [`YIELD_LAG`] behind), the worker is told so, and gives its place to a thread that may serve it.
//!
//! Pure: no clock, threads or chance. What is read of a query comes in a [`Candidate`].

use crate::policy::{Policy, Standing};

/// Nanoseconds of CPU time that an account may have been left behind by, and still get.
pub(crate) const LAG_MAX: u64 = 100_000_000;
/// Nanoseconds of CPU time that an account without a query saves up at most.
pub(crate) const CREDIT: u64 = 20_000_000;
/// Nanoseconds after which a query gets an order, whatever its tier and share.
pub(crate) const STARVED_AFTER: u64 = 1_000_000_000;
/// Nanoseconds of CPU time by which a worker may serve its own account before one that it may not serve. Less would be
/// nearer to equal shares at every moment, and change threads more often.
pub(crate) const YIELD_LAG: u64 = 10_000_000;
/// Virtual times are fractions of nanoseconds: weights divide them.
const SCALE: u128 = 1 << 10;

/// What the enforcer sees of a query.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Candidate {
    /// A claim might succeed.
    pub claimable: bool,
    /// The worker that asks may not serve it.
    pub barred: bool,
    /// The query's priority; the policy turns it into tier and weight.
    pub priority: u32,
    /// Nanoseconds charged to it so far.
    pub charged: u64,
    /// Orders of it that run.
    pub running: u64,
    /// What the learning agent expects its next order to take, in nanoseconds.
    pub order_nanoseconds: u64,
}

/// Whose turn it is, by position.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Turn {
    /// The one that the worker serves.
    pub serve: Option<usize>,
    /// One that comes before it and that the worker may not serve.
    pub barred: Option<usize>,
}

/// A query's place here.
#[derive(Debug)]
struct Member {
    account: u64,
    lane: usize,
    /// How much of what was charged to the query is in its lane's virtual time.
    seen: u64,
    /// When it was served last, or could not have been.
    fed: u64,
}

/// An account in a tier.
#[derive(Clone, Debug)]
struct Lane {
    account: u64,
    tier: u32,
    weight: u32,
    virtual_time: u128,
    members: usize,
}

/// What is compared of two queries that have something to claim.
#[derive(Clone, Copy)]
struct Claimant {
    tier: u32,
    key: u128,
    own: u64,
    weight: u32,
    at: usize,
}

impl Claimant {
    /// So clearly that a worker gives its place away for it.
    fn comes_before(&self, other: &Claimant) -> bool {
        let lag = u128::from(YIELD_LAG) * SCALE / u128::from(self.weight);
        self.tier > other.tier || (self.tier == other.tier && self.key + lag < other.key)
    }
}

/// The queries on the roster by position, their accounts' virtual times, and the policy.
pub(crate) struct Enforcer {
    policy: Box<dyn Policy>,
    members: Vec<Member>,
    lanes: Vec<Lane>,
    /// The largest virtual time served, by tier.
    clocks: Vec<(u32, u128)>,
}

impl Enforcer {
    pub(crate) fn new(policy: Box<dyn Policy>) -> Self {
        Enforcer { policy, members: vec![], lanes: vec![], clocks: vec![] }
    }

    /// Queries that are listed.
    pub(crate) fn members(&self) -> usize {
        self.members.len()
    }

    pub(crate) fn policy_name(&self) -> &'static str {
        self.policy.name()
    }

    /// Applies from the next choice on.
    pub(crate) fn set_policy(&mut self, policy: Box<dyn Policy>) {
        self.policy = policy;
        // Virtual times under other weights say nothing: all begin anew.
        (self.lanes, self.clocks) = (vec![], vec![]);
        self.members.iter_mut().for_each(|member| member.lane = usize::MAX);
    }

    /// A query comes; it goes to the end, and positions in `choose` are those of arrival.
    /// `seen` of what is charged to the query is in its account's time already.
    pub(crate) fn add(&mut self, account: u64, seen: u64, now: u64) {
        self.prune();
        self.members.push(Member { account, lane: usize::MAX, seen, fed: now });
    }

    /// The query at a position goes; how much of what was charged to it is in its account's time.
    pub(crate) fn remove(&mut self, at: usize, charged: u64) -> u64 {
        self.charge(at, charged);
        let member = self.members.remove(at);
        if let Some(lane) = self.lanes.get_mut(member.lane) {
            lane.members -= 1;
        }
        member.seen
    }

    /// Whose turn it is. `candidates` gives the members' present state, by position.
    pub(crate) fn choose(&mut self, now: u64, candidate: impl Fn(usize) -> Candidate) -> Turn {
        // What may be served, and what is barred.
        let mut best: [Option<Claimant>; 2] = [None; 2];
        let mut starved: Option<(u64, bool, usize)> = None;
        for at in 0..self.members.len() {
            let seen = candidate(at);
            if !seen.claimable {
                self.charge(at, seen.charged);
                self.members[at].fed = now;
                continue;
            }
            let standing = self.policy.standing(seen.priority);
            self.place(at, standing);
            self.charge(at, seen.charged);
            let lane = &self.lanes[self.members[at].lane];
            let expected = u128::from(seen.running) * u128::from(seen.order_nanoseconds) * SCALE;
            let key = lane.virtual_time + expected / u128::from(lane.weight);
            let own = seen.charged.saturating_add(seen.running.saturating_mul(seen.order_nanoseconds));
            let best = &mut best[usize::from(seen.barred)];
            let better = best.is_none_or(|best| {
                // Two queries of one account have one key but for their own running orders; the account's is the same.
                standing.tier > best.tier || (standing.tier == best.tier && (key, own) < (best.key, best.own))
            });
            if better {
                *best = Some(Claimant { tier: standing.tier, key, own, weight: standing.weight, at });
            }
            let waited = now.saturating_sub(self.members[at].fed);
            if waited > STARVED_AFTER && starved.is_none_or(|(longest, ..)| waited > longest) {
                starved = Some((waited, seen.barred, at));
            }
        }
        let [serve, barred] = best;
        let turn = match (serve, starved) {
            (None, _) => Turn { serve: None, barred: barred.map(|barred| barred.at) },
            (Some(_), Some((_, false, at))) => Turn { serve: Some(at), barred: None },
            (Some(serve), Some((_, true, at))) => Turn { serve: Some(serve.at), barred: Some(at) },
            (Some(serve), None) => {
                let before = barred.filter(|barred| barred.comes_before(&serve));
                Turn { serve: Some(serve.at), barred: before.map(|barred| barred.at) }
            }
        };
        if let Some(chosen) = turn.serve {
            self.members[chosen].fed = now;
            let Lane { tier, virtual_time, .. } = self.lanes[self.members[chosen].lane];
            let clock = self.clock_mut(tier);
            *clock = (*clock).max(virtual_time);
        }
        turn
    }

    /// Where a query of that priority stands.
    pub(crate) fn tier(&self, priority: u32) -> u32 {
        self.policy.standing(priority).tier
    }

    /// The probability that the next order is of the query at each position, as the policy has it.
    pub(crate) fn probabilities(&self, candidate: impl Fn(usize) -> Candidate) -> Vec<f64> {
        let seen: Vec<Candidate> = (0..self.members.len()).map(candidate).collect();
        let standings: Vec<Standing> = seen.iter().map(|c| self.policy.standing(c.priority)).collect();
        let claimable = || seen.iter().zip(&standings).filter(|(c, _)| c.claimable);
        let Some(top) = claimable().map(|(_, s)| s.tier).max() else { return vec![0.0; seen.len()] };
        let in_account = |account: u64| {
            let same = |at: &usize| {
                self.members[*at].account == account && seen[*at].claimable && standings[*at].tier == top
            };
            (0..seen.len()).filter(same).count().max(1) as f64
        };
        // Time by weight; orders by time over what one takes.
        let orders: Vec<f64> = (0..seen.len())
            .map(|at| match seen[at].claimable && standings[at].tier == top {
                true => {
                    let share = f64::from(standings[at].weight) / in_account(self.members[at].account);
                    share / seen[at].order_nanoseconds.max(1) as f64
                }
                false => 0.0,
            })
            .collect();
        let all: f64 = orders.iter().sum();
        orders.into_iter().map(|orders| if all > 0.0 { orders / all } else { 0.0 }).collect()
    }

    /// Brings what was charged to a query into its lane's virtual time.
    fn charge(&mut self, at: usize, charged: u64) {
        let member = &mut self.members[at];
        debug_assert!(charged >= member.seen, "{charged} charged, of which {} was seen", member.seen);
        let more = charged.saturating_sub(member.seen);
        if let Some(lane) = self.lanes.get_mut(member.lane) {
            lane.virtual_time += u128::from(more) * SCALE / u128::from(lane.weight);
            member.seen = charged;
        }
    }

    /// Sees to it that the member is in the lane of its account and standing, and the lane not too far behind.
    fn place(&mut self, at: usize, standing: Standing) {
        let Member { lane: old, account, .. } = self.members[at];
        let clock = *self.clock_mut(standing.tier);
        let fits = |lane: &Lane| lane.tier == standing.tier && lane.account == account;
        if !self.lanes.get(old).is_some_and(fits) {
            if let Some(lane) = self.lanes.get_mut(old) {
                lane.members -= 1;
            }
            let least = clock.saturating_sub(u128::from(CREDIT) * SCALE / u128::from(standing.weight));
            let lane = match self.lanes.iter().position(fits) {
                Some(lane) => lane,
                None => {
                    let fresh = Lane {
                        account,
                        tier: standing.tier,
                        weight: standing.weight,
                        virtual_time: least,
                        members: 0,
                    };
                    self.lanes.push(fresh);
                    self.lanes.len() - 1
                }
            };
            let found = &mut self.lanes[lane];
            if found.members == 0 {
                found.virtual_time = found.virtual_time.max(least);
            }
            found.members += 1;
            self.members[at].lane = lane;
        }
        debug_assert_ne!(standing.weight, 0, "virtual times are divided by weights");
        let lane = &mut self.lanes[self.members[at].lane];
        debug_assert!(lane.account == account && lane.tier == standing.tier && lane.members > 0, "{lane:?}");
        lane.weight = standing.weight;
        let least = clock.saturating_sub(u128::from(LAG_MAX) * SCALE / u128::from(lane.weight));
        lane.virtual_time = lane.virtual_time.max(least);
    }

    fn clock_mut(&mut self, tier: u32) -> &mut u128 {
        let at = match self.clocks.iter().position(|(known, _)| *known == tier) {
            Some(at) => at,
            None => {
                self.clocks.push((tier, 0));
                self.clocks.len() - 1
            }
        };
        &mut self.clocks[at].1
    }

    /// Forgets accounts without a query that a new one would stand as well as.
    fn prune(&mut self) {
        const LANES_KEPT: usize = 256;
        if self.lanes.len() <= LANES_KEPT.max(2 * self.members.len()) {
            return;
        }
        let clocks = std::mem::take(&mut self.clocks);
        let clock =
            |tier: u32| clocks.iter().find(|(known, _)| *known == tier).map_or(0, |(_, clock)| *clock);
        let mut places = vec![usize::MAX; self.lanes.len()];
        let mut kept = Vec::new();
        for (at, lane) in self.lanes.drain(..).enumerate() {
            if lane.members > 0 || lane.virtual_time > clock(lane.tier) {
                places[at] = kept.len();
                kept.push(lane);
            }
        }
        self.lanes = kept;
        for member in &mut self.members {
            member.lane = places.get(member.lane).copied().unwrap_or(usize::MAX);
        }
        self.clocks = clocks;
        debug_assert!(self.members.iter().all(|m| m.lane == usize::MAX || m.lane < self.lanes.len()));
        debug_assert_eq!(
            self.lanes.iter().map(|lane| lane.members).sum::<usize>(),
            self.members.iter().filter(|member| member.lane != usize::MAX).count(),
            "lanes count their members"
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::{Fair, HighestPriorityFirst, Proportional};

    /// Serves one order after the other, each of a query's own length; returns what each query got.
    fn served(enforcer: &mut Enforcer, candidates: &mut [Candidate], until: u64) -> Vec<u64> {
        let before: Vec<u64> = candidates.iter().map(|c| c.charged).collect();
        let mut now = 0;
        while now < until {
            let at = enforcer.choose(now, |at| candidates[at]).serve.expect("something is claimable");
            candidates[at].charged += candidates[at].order_nanoseconds;
            now += candidates[at].order_nanoseconds;
        }
        candidates.iter().zip(before).map(|(c, before)| c.charged - before).collect()
    }

    fn ready(priority: u32, order_nanoseconds: u64) -> Candidate {
        Candidate { claimable: true, priority, order_nanoseconds, ..Candidate::default() }
    }

    #[test]
    fn fair_is_equal_time_and_not_equal_counts() {
        let mut enforcer = Enforcer::new(Box::new(Fair));
        let mut queries = [ready(1, 100_000), ready(5, 400_000), ready(1, 2_000_000)];
        (0..3).for_each(|account| enforcer.add(account, 0, 0));
        let got = served(&mut enforcer, &mut queries, 1_000_000_000);
        assert!(got.iter().all(|time| time.abs_diff(333_333_333) < 3_000_000), "{got:?}");
        // Orders, as probabilities: a tenth of a millisecond comes twenty times as often as two.
        let probabilities = enforcer.probabilities(|at| queries[at]);
        assert!((probabilities[0] / probabilities[2] - 20.0).abs() < 1e-9, "{probabilities:?}");
    }

    #[test]
    fn proportional_shares_follow_the_priorities() {
        let mut enforcer = Enforcer::new(Box::new(Proportional));
        let mut queries = [ready(1, 300_000), ready(3, 300_000)];
        (0..2).for_each(|account| enforcer.add(account, 0, 0));
        let got = served(&mut enforcer, &mut queries, 1_000_000_000);
        assert!((got[1] as f64 / got[0] as f64 - 3.0).abs() < 0.1, "{got:?}");
    }

    #[test]
    fn the_highest_priority_takes_all_but_nobody_starves() {
        let mut enforcer = Enforcer::new(Box::new(HighestPriorityFirst));
        let mut queries = [ready(1, 300_000), ready(2, 300_000)];
        (0..2).for_each(|account| enforcer.add(account, 0, 0));
        let got = served(&mut enforcer, &mut queries, 10_000_000_000);
        assert!((1..=10 * 300_000).contains(&got[0]), "{got:?}");
        queries[1].claimable = false;
        assert_eq!(enforcer.choose(0, |at| queries[at]).serve, Some(0));
    }

    #[test]
    fn a_barred_query_is_named_when_it_clearly_comes_first() {
        let mut enforcer = Enforcer::new(Box::new(HighestPriorityFirst));
        let mut queries = [ready(1, 300_000), ready(2, 300_000)];
        (0..2).for_each(|account| enforcer.add(account, 0, 0));
        queries[1].barred = true;
        assert_eq!(enforcer.choose(0, |at| queries[at]), Turn { serve: Some(0), barred: Some(1) });
        queries[0].barred = true;
        assert_eq!(enforcer.choose(0, |at| queries[at]), Turn { serve: None, barred: Some(1) });
        // Of one tier: not before it is some way behind.
        queries = [ready(1, 300_000), ready(1, 300_000)];
        queries[1].barred = true;
        for _ in 0..YIELD_LAG / 300_000 {
            assert_eq!(enforcer.choose(0, |at| queries[at]), Turn { serve: Some(0), barred: None });
            queries[0].charged += 300_000;
        }
        queries[0].charged += 600_000;
        assert_eq!(enforcer.choose(0, |at| queries[at]), Turn { serve: Some(0), barred: Some(1) });
        // One that starves is named whatever its tier.
        queries[0].priority = 5;
        enforcer.choose(STARVED_AFTER, |at| queries[at]);
        let turn = enforcer.choose(STARVED_AFTER + 1, |at| queries[at]);
        assert_eq!(turn, Turn { serve: Some(0), barred: Some(1) });
    }

    #[test]
    fn queries_of_one_account_share_what_it_gets() {
        let mut enforcer = Enforcer::new(Box::new(Fair));
        let mut queries = [ready(1, 200_000), ready(1, 200_000), ready(1, 200_000)];
        [7, 7, 8].into_iter().for_each(|account| enforcer.add(account, 0, 0));
        let got = served(&mut enforcer, &mut queries, 1_000_000_000);
        assert!(got[2].abs_diff(500_000_000) < 2_000_000 && got[0].abs_diff(got[1]) < 2_000_000, "{got:?}");
    }

    #[test]
    fn who_comes_back_has_a_small_credit_only() {
        let mut enforcer = Enforcer::new(Box::new(Fair));
        let mut queries = [ready(1, 200_000), ready(1, 200_000)];
        enforcer.add(0, 0, 0);
        served(&mut enforcer, &mut queries[..1], 5_000_000_000);
        enforcer.add(1, 0, 0);
        let got = served(&mut enforcer, &mut queries, 1_000_000_000);
        let ahead = got[1] - got[0];
        assert!((CREDIT - 400_000..=CREDIT + 400_000).contains(&ahead), "{ahead}");
    }

    #[test]
    fn a_looping_account_has_no_credit_and_its_planning_counts() {
        let mut enforcer = Enforcer::new(Box::new(Fair));
        let mut queries = [ready(1, 200_000), ready(1, 200_000)];
        enforcer.add(0, 0, 0);
        enforcer.add(1, 0, 0);
        let (mut looping, mut steady, mut now) = (0, 0, 0);
        while now < 1_000_000_000 {
            let at = enforcer.choose(now, |at| queries[at]).serve.expect("something is claimable");
            queries[at].charged += 200_000;
            now += 200_000;
            *if at == 1 { &mut looping } else { &mut steady } += 200_000;
            if at == 1 && queries[1].charged >= 5_000_000 {
                // The query ends, and the next one comes with a millisecond of planning.
                enforcer.remove(1, queries[1].charged);
                enforcer.add(1, 0, now);
                queries[1].charged = 1_000_000;
                looping += 1_000_000;
            }
        }
        assert!(u64::abs_diff(looping, steady) < 10_000_000, "{looping} {steady}");
    }

    #[test]
    fn running_orders_are_charged_before_they_are_done() {
        let mut enforcer = Enforcer::new(Box::new(Fair));
        let mut queries = [ready(1, 5_000_000), ready(1, 200_000)];
        (0..2).for_each(|account| enforcer.add(account, 0, 0));
        assert_eq!(enforcer.choose(0, |at| queries[at]).serve, Some(0));
        queries[0].running = 1;
        // Until that long order is done, all is the other's.
        for _ in 0..20 {
            assert_eq!(enforcer.choose(0, |at| queries[at]).serve, Some(1));
            queries[1].charged += 200_000;
        }
    }
}
