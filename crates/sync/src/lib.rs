//! Small synchronisation tools shared by every layer: cancellation, a park/unpark gate, striped counters.
