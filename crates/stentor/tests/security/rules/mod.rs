//! What rules and questions let through.
