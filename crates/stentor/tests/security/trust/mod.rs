//! What a folder can bring: nothing of it runs before the folder is trusted.
