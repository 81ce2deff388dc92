"""The demonstration: a small int8 classifier of handwritten digits, and its data.

``train.py`` made all three files. The images are scikit-learn's copy of the UCI data set
"Optical Recognition of Handwritten Digits" (E. Alpaydin, C. Kaynak, 1998; CC BY 4.0).
"""
