"""The compiler: trained classifier and labelled data in, proven monitor out."""
