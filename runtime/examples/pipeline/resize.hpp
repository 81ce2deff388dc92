// Bilinear resizing with antialiasing: the twin of runtime/resize.py, bit for bit.
#ifndef PIPELINE_RESIZE_HPP
#define PIPELINE_RESIZE_HPP

#include "image.hpp"

namespace pipeline {

// Of a picture, (H, W) or (H, W, C), to (height, width[, C]); uint8 stays uint8.
Image resize_bilinear(Image picture, std::size_t width, std::size_t height);

} // namespace pipeline

#endif // PIPELINE_RESIZE_HPP
