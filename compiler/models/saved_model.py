"""What a SavedModel says that it computes, read before TensorFlow loads any of it.

Loading one runs parts of its graph: initialisers, what restores the variables, and all that folds
to constants while it is converted. An operator can write or read any file; so nothing is loaded
that has others than those below. All of them compute, or handle the variables of the model.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from edgemon.runtime.errors import BackendError

GRAPH = "saved_model.pb"
MOST_GRAPH_BYTES = 1 << 30  # TensorFlow itself reads twice as much

# Every SavedModel can save itself again. Nobody here does: the operators that write are taken out.
WRITE = frozenset(("SaveV2", "MergeV2Checkpoints"))

_STRUCTURE = """
Assert Bitcast BroadcastArgs BroadcastTo Case Cast CheckNumerics Concat ConcatV2 Const
ControlTrigger EnsureShape Enter Exit ExpandDims Fill Gather GatherNd GatherV2 Identity IdentityN
If InvertPermutation LinSpace LoopCond LowerBound Merge NextIteration NoOp OneHot OnesLike Pack Pad
PadV2 ParallelConcat ParallelDynamicStitch PartitionedCall Placeholder PlaceholderV2
PlaceholderWithDefault PreventGradient Range Rank Reshape Reverse ReverseSequence ReverseV2 Roll
ScatterNd Select SelectV2 Shape ShapeN Size Slice Snapshot Split SplitV Squeeze
StatefulPartitionedCall StatelessCase StatelessIf StatelessWhile StopGradient StridedSlice Switch
SymbolicGradient TensorScatterAdd TensorScatterMax TensorScatterMin TensorScatterSub
TensorScatterUpdate TensorStridedSliceUpdate Tile Transpose Unique UniqueV2 Unpack UnravelIndex
UpperBound Where While ZerosLike DynamicPartition DynamicStitch DeepCopy
"""
_VARIABLES = """
Assign AssignAdd AssignAddVariableOp AssignSub AssignSubVariableOp AssignVariableOp
DestroyResourceOp DisableCopyOnRead IsVariableInitialized ReadVariableOp ResourceGather
ResourceGatherNd RestoreV2 ShardedFilename StringJoin VarHandleOp VarIsInitializedOp Variable
VariableShape VariableV2 StaticRegexFullMatch
"""
_MATHEMATICS = """
Abs Acos Acosh Add AddN AddV2 All Angle Any ApproximateEqual ArgMax ArgMin Asin Asinh Atan Atan2
Atanh BatchMatMul BatchMatMulV2 BatchMatMulV3 BesselI0e BesselI1e Betainc BiasAdd BiasAddV1 Bincount
BitwiseAnd BitwiseOr BitwiseXor Bucketize Ceil ClipByValue Complex ComplexAbs Conj Cos Cosh Cross
Cumprod Cumsum CumulativeLogsumexp DenseBincount Diag DiagPart Digamma Div DivNoNan Einsum Equal Erf
Erfc Erfinv EuclideanNorm Exp Expm1 FFT FFT2D FFT3D Floor FloorDiv FloorMod Greater GreaterEqual
IFFT IFFT2D IFFT3D IRFFT IRFFT2D Igamma Igammac Imag InTopK InTopKV2 Inv Invert IsFinite IsInf IsNan
L2Loss LeftShift Less LessEqual Lgamma Log Log1p LogicalAnd LogicalNot LogicalOr MatMul
MatrixBandPart MatrixDeterminant MatrixDiag MatrixDiagPart MatrixDiagPartV2 MatrixDiagPartV3
MatrixDiagV2 MatrixDiagV3 MatrixInverse MatrixSetDiag MatrixSetDiagV2 MatrixSetDiagV3 MatrixSolve
MatrixTriangularSolve Max Maximum Mean Min Minimum Mod Mul MulNoNan Neg NotEqual Pow Prod RFFT
RFFT2D Real RealDiv Reciprocal RightShift Rint Round Rsqrt SegmentMax SegmentMean SegmentMin
SegmentProd SegmentSum Sign Sin Sinh Sqrt Square SquaredDifference Sub Sum Tan TopK TopKV2
TruncateDiv TruncateMod UnsortedSegmentMax UnsortedSegmentMin UnsortedSegmentProd UnsortedSegmentSum
Xdivy Xlog1py Xlogy
"""
_LAYERS = """
AdjustContrastv2 AdjustHue AdjustSaturation AvgPool AvgPool3D BatchNormWithGlobalNormalization
BatchToSpace BatchToSpaceND Conv Conv2D Conv2DBackpropInput Conv2DBackpropInputV2 Conv3D
Conv3DBackpropInput Conv3DBackpropInputV2 CropAndResize DataFormatDimMap DataFormatVecPermute
DepthToSpace DepthwiseConv2dNative Dequantize Dilation2D Elu ExtractGlimpse ExtractImagePatches
ExtractVolumePatches FakeQuantWithMinMaxArgs FakeQuantWithMinMaxVars
FakeQuantWithMinMaxVarsPerChannel FractionalAvgPool FractionalMaxPool FusedBatchNorm
FusedBatchNormV2 FusedBatchNormV3 HSVToRGB ImageProjectiveTransformV2 ImageProjectiveTransformV3 LRN
LeakyRelu LogSoftmax MaxPool MaxPool3D MaxPoolV2 MaxPoolWithArgmax MirrorPad NonMaxSuppression
NonMaxSuppressionV2 NonMaxSuppressionV3 NonMaxSuppressionV4 NonMaxSuppressionV5
QuantizeAndDequantize QuantizeAndDequantizeV2 QuantizeAndDequantizeV3 QuantizeAndDequantizeV4
QuantizeV2 RGBToHSV Relu Relu6 ResizeArea ResizeBicubic ResizeBilinear ResizeNearestNeighbor
ScaleAndTranslate Selu Sigmoid Softmax Softplus Softsign SpaceToBatch SpaceToBatchND SpaceToDepth
Tanh EmptyTensorList TensorArrayCloseV3 TensorArrayConcatV3 TensorArrayGatherV3 TensorArrayReadV3
TensorArrayScatterV3 TensorArraySizeV3 TensorArraySplitV3 TensorArrayV3 TensorArrayWriteV3
TensorListConcatV2 TensorListElementShape TensorListFromTensor TensorListGather TensorListGetItem
TensorListLength TensorListPopBack TensorListPushBack TensorListReserve TensorListResize
TensorListScatter TensorListScatterIntoExistingList TensorListScatterV2 TensorListSetItem
TensorListSplit TensorListStack
"""
_RANDOM = """
Multinomial ParameterizedTruncatedNormal RandomShuffle RandomStandardNormal RandomUniform
RandomUniformInt StatefulRandomBinomial StatefulStandardNormalV2 StatefulTruncatedNormal
StatefulUniform StatefulUniformFullInt StatefulUniformInt StatelessMultinomial
StatelessRandomBinomial
StatelessRandomGetAlg StatelessRandomGetKeyCounter StatelessRandomGetKeyCounterAlg
StatelessRandomNormal StatelessRandomNormalV2 StatelessRandomUniform StatelessRandomUniformFullInt
StatelessRandomUniformFullIntV2 StatelessRandomUniformInt StatelessRandomUniformIntV2
StatelessRandomUniformV2 StatelessShuffle StatelessTruncatedNormal StatelessTruncatedNormalV2
TruncatedNormal RngReadAndSkip RngSkip
"""
OPERATORS = frozenset(f"{_STRUCTURE} {_VARIABLES} {_MATHEMATICS} {_LAYERS} {_RANDOM}".split())


def require_pure(folder: Path) -> None:
    """Raises BackendError if the graph has an operator that is not on the list, in whatever
    function. ``folder`` is the caller's own copy: what saves the model is taken out of its
    graph."""
    from google.protobuf.message import DecodeError
    from tensorflow.core.protobuf.saved_model_pb2 import SavedModel

    path = folder / GRAPH
    size = path.stat().st_size
    if size > MOST_GRAPH_BYTES:
        raise BackendError(
            f"its {GRAPH} has {size:,} bytes; edgemon reads at most {MOST_GRAPH_BYTES:,}"
        )
    saved = SavedModel()
    try:
        saved.ParseFromString(path.read_bytes())
    except DecodeError:
        raise BackendError(f"is damaged: its {GRAPH} is not a SavedModel") from None
    for node, function in _nodes(saved):
        if node.op in WRITE:
            _take_out(node)
        elif node.op not in OPERATORS:
            raise BackendError(
                f"has the operator {_shown(node.op)}{function and f' in {_shown(function)}'}, "
                "which is none of those that only compute; edgemon runs nothing else of a "
                "SavedModel: convert the model to TFLite where it was made, and give that"
            )
    path.write_bytes(saved.SerializeToString())


def _nodes(saved: Any) -> Iterator[tuple[Any, str]]:
    """All nodes, each with the name of the function that it stands in."""
    for graph in (meta.graph_def for meta in saved.meta_graphs):
        for node in graph.node:
            yield node, ""
        for function in graph.library.function:
            for node in function.node_def:
                yield node, function.signature.name


def _take_out(node: Any) -> None:
    """An operator without results becomes one that waits for the same inputs and does nothing."""
    inputs = [name if name.startswith("^") else f"^{name.split(':')[0]}" for name in node.input]
    node.op = "NoOp"
    node.attr.clear()
    del node.input[:]
    node.input.extend(dict.fromkeys(inputs))


def _shown(name: str) -> str:
    return repr(name if len(name) <= 60 else name[:60] + "...")
