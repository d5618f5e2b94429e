//! No question takes more memory than was said before.

mod common;

use std::{
    alloc::{GlobalAlloc, Layout, System},
    sync::atomic::{AtomicUsize, Ordering::Relaxed},
};

use ziggurat_advice::Policy;
use ziggurat_analysis::{Analyst, Question, memory_bytes};
use ziggurat_table::unheard;

/// The memory of the system; counts the bytes that are taken, and the most that there were.
struct Counted {
    taken: AtomicUsize,
    most: AtomicUsize,
}

#[global_allocator]
static COUNTED: Counted = Counted { taken: AtomicUsize::new(0), most: AtomicUsize::new(0) };

#[expect(unsafe_code)]
// SAFETY: all is done by the allocator of the system, with what the caller has promised.
unsafe impl GlobalAlloc for Counted {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let taken = self.taken.fetch_add(layout.size(), Relaxed) + layout.size();
        self.most.fetch_max(taken, Relaxed);
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        self.taken.fetch_sub(layout.size(), Relaxed);
        unsafe { System.dealloc(at, layout) }
    }
}

/// Lists of shards and pieces, and frames of the table as they are read.
const BESIDES: u64 = 2 << 20;

#[test]
fn no_question_takes_more_memory_than_was_said() {
    let ruleset = common::ruleset("finkel", 3);
    let (_directory, advisor) = common::solved(&ruleset);
    let analyst = Analyst::new(&advisor);
    let [greedy, random] = [&Policy::Greedy, &Policy::Random];
    let ask = |question: Question, answer: &dyn Fn()| {
        let said = memory_bytes(advisor.table().encoding(), &[question]) + BESIDES;
        let before = COUNTED.taken.load(Relaxed);
        COUNTED.most.store(before, Relaxed);
        answer();
        let took = (COUNTED.most.load(Relaxed) - before) as u64;
        assert!(took <= said, "{question:?} took {took} bytes, not {said}");
        assert!(3 * took > said, "{question:?} took {took} bytes of {said}: too much is asked for");
    };
    ask(Question::Perfect, &|| _ = analyst.perfect(&unheard).unwrap());
    for (policies, lists) in [([greedy, &Policy::Perfect], 0), ([greedy, random], 1)] {
        let question = Question::Chances { lists };
        ask(question, &|| _ = analyst.chances(policies, &unheard).unwrap());
        ask(Question::Games { lists }, &|| _ = analyst.games(policies, &unheard).unwrap());
        let question = Question::Account { same: false, lists };
        ask(question, &|| _ = analyst.account(policies, 1e3, &unheard).unwrap());
        let question = Question::Distribution { same: false, lists };
        ask(question, &|| _ = analyst.distribution(policies, &unheard).unwrap());
    }
}
